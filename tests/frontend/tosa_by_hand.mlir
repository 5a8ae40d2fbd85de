// One pixel of two channels to one, times 3/4, and a pool: pretty forms, a splat, bytes, a resource.
// A model that nobody's exporter wrote.
#loc = loc(unknown)
module attributes {tosa.note = "x"} {
  func.func public @net(%x: tensor<1x2x2x2xi8> {name = "image"}) -> (tensor<1x1x1x1xi8>) {
    %w = "tosa.const"() <{values = dense<[[[[1, -2]]]]> : tensor<1x1x1x2xi8>}> : () -> tensor<1x1x1x2xi8>
    %b = "tosa.const"() {values = dense_resource<bias> : tensor<1xi32>} : () -> tensor<1xi32>
    %m = "tosa.const"() {values = dense<1610612736> : tensor<1xi32>} : () -> tensor<1xi32>
    %s = "tosa.const"() {values = dense<"0x1F"> : tensor<1xi8>} : () -> tensor<1xi8>
    %zx = "tosa.const"() {values = dense<-5> : tensor<1xi8>} : () -> tensor<1xi8>
    %z = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
    %z32 = arith.constant dense<0> : tensor<1xi32>
    %0 = tosa.conv2d %x, %w, %b, %zx, %z {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x2x2x2xi8>, tensor<1x1x1x2xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x2x2x1xi32>
    %1 = tosa.rescale %0, %m, %s, %z32, %z {scale32 = true, rounding_mode = "SINGLE_ROUND", per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<1x2x2x1xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<1x2x2x1xi8>
    %2 = tosa.clamp %1 min_val(-20 : i8) max_val(20 : i8) : (tensor<1x2x2x1xi8>) -> tensor<1x2x2x1xi8>
    %3 = tosa.max_pool2d %2 kernel([2, 2]) stride([2, 2]) pad([0, 0, 0, 0]) : (tensor<1x2x2x1xi8>) -> tensor<1x1x1x1xi8>
    return %3 : tensor<1x1x1x1xi8>
  } loc(#loc)
}
{-#
  dialect_resources: {
    builtin: {
      bias: "0x0400000007000000"
    }
  }
#-}

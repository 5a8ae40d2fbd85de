"use strict";
/* A click on a layer opens its row, and an open row shows where the layer is. */
(function () {
  function rowOf(hash) {
    return /^#layer-\d+$/.test(hash) ? document.getElementById(hash.slice(1)) : null;
  }
  function mark() {
    document.querySelectorAll("svg a").forEach(function (link) {
      const row = rowOf(link.getAttribute("href"));
      link.classList.toggle("here", row !== null && row.open);
    });
  }
  function show() {
    const row = rowOf(location.hash);
    if (row !== null) {
      row.open = true;
      row.scrollIntoView({ block: "nearest" });
      row.querySelector("summary").focus({ preventScroll: true });
    }
    mark();
  }
  window.addEventListener("hashchange", show);
  document.querySelectorAll(".layers details").forEach(function (row) {
    row.addEventListener("toggle", mark);
  });
  document.querySelectorAll("svg a").forEach(function (link) {
    link.addEventListener("click", function () {
      if (link.getAttribute("href") === location.hash) { show(); }
    });
  });
  show();
})();

"""What is said: the wake word, what sounds like it, and other words.

Other speech is words in random order: no text has to be quoted, and every sound meets every other.
Near misses and some words belong to one group of voices alone: training, choosing or test.
"""

from __future__ import annotations

import numpy as np

from examples.wake_word.speech import Group

WAKE_WORD = "hey firefly"
#: How the wake word may be written; punctuation changes the melody.
WAKE_TEXTS = ("hey firefly", "hey firefly!", "hey, firefly", "hey firefly?", "hey firefly.")
#: In training, also as espeak-ng's phonemes: as somebody from elsewhere may say it.
WAKE_PHONEMES = (
    "[[h'eI f'aI3flaI]]", "[[h'e: f'aI@flaI]]", "[[h'e: f'aI3fl,aI]]", "[[h'eI f'aIa#fl,aI]]",
    "[[h'eI_ f'aI@fl,aI]]", "[[heI f'aI@flaI]]", "[[h'eI f,aI@fl'aI]]", "[[h'E f'aI3flaI]]",
    "[[h'eI f'aIRflaI]]", "[[h'eI f'A:@flaI]]", "[[h'eI f'VI@flVI]]",
)  # fmt: skip
#: By group. The wake word's halves are among them; "firefly" alone is not the wake word.
NEAR_MISSES: dict[Group, tuple[str, ...]] = {
    "training": (
        "hey butterfly", "hey fireman", "hey dragonfly", "hey fire", "hey there", "hey flyer",
        "hey Fiona", "hey Siri", "butterfly", "fireplace", "fire alarm", "fire brigade", "fire",
        "hey fireplace", "hey fire truck", "hey, fire away", "hey fire chief", "hey firearm",
        "hey, high five", "they fired Clyde", "the fire flickered", "higher flight", "wire supply",
        "hire a fly", "say fairly", "may I reply", "Friday", "hey five, five", "a flyer", "hey lie",
        "highly fragile", "day after Friday", "hey Frida, fly", "he fired blindly", "hey fly",
        "hey lullaby", "hey father", "hey fella", "hey fire, fire", "a fire fly past", "hey buyer",
        "hey fighter", "hey mayor, reply", "hey sapphire", "hey wire", "hey fryer", "hey fine",
        "hey hire fly", "hey Friday", "they fire flares", "hey liar", "hey fire flower",
        "pay for life", "hey tiger", "hey firelight", "hey foxfire", "hey, far and high",
        "hey flyby", "hey fall by", "firefly", "the firefly", "a firefly flew", "hey hey", "hey",
        "hey flyfire", "fly, hey fire", "hey for a fly", "he fires, I fly", "hey firmly",
        "hey five fly", "hey via fly", "hey fair fly", "day for flight", "high fire fly by",
        "hey, why fly", "hey fire, lie", "may fire fly",
    ),
    "choosing": (
        "hey firewall", "hey horsefly", "fruit fly", "hey firefox", "pay Friday", "hey firefighter",
        "they're fine, fly", "a fire supply", "hey Pfeiffer", "hate fries", "hey, try to fly",
        "quite a fire", "hi, Farley", "fire drill", "okay, fire away", "hey five flies",
    ),
    "test": (
        "hey firestone", "hey fireball", "hey gadfly", "hey wildfire", "stay higher",
        "firefly season", "hey fine line", "hey Eiffel, hi", "hey fire engine", "they fry fish",
        "hey Pfizer", "say goodbye", "hey, I'll fly", "hey Fifi", "play fire fight",
        "pay five dollars", "a fiery sky", "hey flight",
    ),
}  # fmt: skip
_WORDS = """
the of and to in is it you that he was for on are with as his they be at one have this from or had
by hot but some what there we can out other were all your when up use word how said an each she
which do their time if will way about many then them would write like so these her long make thing
see him two has look more day could go come did my sound no most number who over know water than
call first people may down side been now find any new work part take get place made live where
after back little only round man year came show every good me give our under name very through just
form much great think say help low line before turn cause same mean differ move right boy old too
does tell sentence set three want air well also play small end put home read hand port large spell
add even land here must big high such follow act why ask men change went light kind off need house
picture try us again animal point mother world near build self earth father head stand own page
should country found answer school grow study still learn plant cover food sun four thought let
keep eye never last door between city tree cross since hard start might story saw far sea draw left
late run while press close night real life few stop open seem together next white children begin
got walk example ease paper often always music those both mark book letter until mile river car
feet care second group carry took rain eat room friend began idea fish mountain north once base
hear horse cut sure watch color face wood main enough plain girl usual young ready above ever red
list though feel talk bird soon body dog family direct pose leave song measure state product black
short numeral class wind question happen complete ship area half rock order fire south problem
piece told knew pass farm top whole king size heard best hour better true during hundred am
remember step early hold west ground interest reach fast five sing listen six table travel less
morning ten simple several vowel toward war lay against pattern slow center love person money serve
appear road map science rule govern pull cold notice voice fall power town fine certain fly unit
lead cry dark machine note wait plan figure star box noun field rest correct able pound done beauty
drive stood contain front teach week final gave green quick develop sleep warm free minute strong
special mind behind clear tail produce fact street inch lot nothing course stay wheel full force
blue object decide surface deep moon island foot yet busy test record boat common gold possible
plane age dry wonder laugh thousand ago ran check game shape yes miss heat snow bed bring sit
perhaps fill east weight language among
"""
_CHOOSING_WORDS = """
kitchen window garden bottle orange pepper yellow tomorrow evening holiday doctor hospital station
ticket coffee breakfast dinner chicken computer telephone newspaper internet weather temperature
lamp curtain radio television volume louder quieter blanket pillow mirror cupboard kettle sugar
lemon cherry potato salad sandwich weekend february thursday seventeen forty ninety million
umbrella jacket trousers camera battery engine bicycle airport village forest desert ocean
reply behave eyebrow pirate quietly fifteen frightful highlight spider cider virus pliers lifelike
hello okay hey hay hire fired flight flying florida fairy frying pan daylight satellite
brighter lighter driver diner minor tighter whiteboard firmly heifer heyday mayfly
"""
_TEST_WORDS = """
bathroom ceiling carpet apple carrot purple tonight midnight birthday teacher museum theatre
bridge engineer lunch turkey printer keyboard magazine message humidity thunder switch heating
alarm timer playlist brightness cushion towel drawer oven butter honey cabbage pasta burger
saturday october sixteen thirty eighty billion raincoat sweater necklace charger wallet scooter
harbour suburb jungle iceberg planet delay survey nightfall vampire silently fifty delightful
sunlight barfly spire vital bias wires blindfold prior hurry heavy hero halo higher hiding
flute flown flip floor freely fireside empire umpire entire acquire dryer fibre finally
"""
WORDS = tuple(_WORDS.split())
OWN_WORDS: dict[Group, tuple[str, ...]] = {
    "training": (), "choosing": tuple(_CHOOSING_WORDS.split()), "test": tuple(_TEST_WORDS.split()),
}  # fmt: skip


def sentence(rng: np.random.Generator, group: Group) -> str:
    """One to nine words, sometimes with a comma; of those after training, a third its group's."""
    words = [str(rng.choice(WORDS)) for _ in range(int(rng.integers(1, 10)))]
    if own := OWN_WORDS[group]:
        words = [str(rng.choice(own)) if rng.random() < 0.3 else w for w in words]
    if len(words) > 3 and rng.random() < 0.3:
        words[len(words) // 2] += ","
    return " ".join(words)


def wake_text(rng: np.random.Generator, group: Group) -> str:
    """The wake word, as it may be written or, in training, spoken."""
    if group == "training" and rng.random() < 0.4:
        return str(rng.choice(WAKE_PHONEMES))
    return str(rng.choice(WAKE_TEXTS))


def near_miss(rng: np.random.Generator, group: Group) -> str:
    """Something that could be taken for the wake word."""
    return str(rng.choice(NEAR_MISSES[group]))

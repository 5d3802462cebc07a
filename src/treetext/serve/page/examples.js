"use strict";
// Example texts by task. Those of the artificial language were generated.

const EXAMPLES = {
  documents: {
    "A review": `We came for the view and stayed for the soup. The waiter forgot our bread twice, but he laughed about \
it, and so did we. Prices are fair. I would not drive an hour for the dessert. For the soup, I would walk.`,
    "A speech": `Madam Speaker, I rise to oppose this bill. It promises cheaper trains, and I like cheap trains. But \
it pays for them with the night buses, and those who clean our offices ride home by bus. My friends say that savings come \
first. Let them ask the nurse who walks four miles at dawn. I yield back.`,
    "One sentence": "The gate that the old man painted last summer creaks again.",
  },
  pairs: {
    Entailment: ["A man sleeps on a bench in the park.", "Somebody is outdoors."],
    Contradiction: ["Two dogs chase a red ball.", "The animals are asleep."],
    Neutral: ["A woman reads a letter by the window.", "She is reading bad news."],
  },
  "hidden-trees": {
    "Label p1": `lasodun komikut vodikux desetaid digabaim gipunait mibabis. gipunoit roretoin tikunis gipunet \
mibabux bavoded penetem. notirux magoraut rapodis lukaboit vekaboin revamaum. roretoim nebemoit vodikux bavodit bunetin \
puramis. nebemid damunin pitodit rudabom lukabot ux vodikis. puramux komikad notiris sogikan bavodeut komikat duvameum. nebemat \
tubabam semetis mibabux vumunaun pitodaud lukabaut.`,
    "Label p2": `revamaum lukabid lukabit notiris puramux bunetin komikaut. kereteun pitodeud mepetum magorud \
tikunis lukabut magoreut puramux. tikunux vodikis deseteit nugabein magoroid tamikoim nebemoit. lukabet tikunux naroden \
pokikum mibabis lukabed desetut komikud. puramis ux komikait komikoit digabaim vekaboin bavodaid.`,
    "One sentence": "nebemid damunin pitodit rudabom lukabot ux vodikis",
  },
};

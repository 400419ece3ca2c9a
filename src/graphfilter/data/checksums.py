"""SHA-256 of the original files and of the converted ones, as far as copies were available."""

from __future__ import annotations

# By the path below the source's address. Originals that are not listed are checked by counts.
ORIGINALS = {
    "ind.cora.x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "cornell/out1_graph_edges.txt": (
        "c4522a00cc40873c8a04a3a07c49e24a48a507eb284ac9c9f2d3e0590351bbb7"
    ),
    "cornell/out1_node_feature_label.txt": (
        "cf5a3ca346cdd1210b8342e22517fcbbdae658065b7a3145f59350e50e6236a3"
    ),
    "texas/out1_graph_edges.txt": (
        "0fe85183243a78cbee9b85a684f8240963d04d1020d10e9cd2b8cfb25e33b476"
    ),
    "texas/out1_node_feature_label.txt": (
        "cf5a3ca346cdd1210b8342e22517fcbbdae658065b7a3145f59350e50e6236a3"
    ),
    "wisconsin/out1_graph_edges.txt": (
        "ebd213511c88fce1eda450c2f920600c4b8cbb38f02384856bcc47c6ec1807ae"
    ),
    "wisconsin/out1_node_feature_label.txt": (
        "a32b0aa38d42f0d36841e8a8cb646d197f0ff33a182ac75a2b4476aeed3c7e4b"
    ),
    "splits/cora_split_0.6_0.2_0.npz": (
        "619931e6c3f0248bf9c7b6be24680a0a617bcfaba661cb0d7afaee8e18a74a51"
    ),
    "splits/wisconsin_split_0.6_0.2_0.npz": (
        "f66f641e191d35d491cd3b63d6c2cd93c4b436da398984b44c19a8d4d7e7b1a5"
    ),
    "chameleon_filtered.npz": "bf46f07e1fb5249280447e5fe3100f3e82fc4b93ad1e13ffcfdec924b6ac0bb5",
    "amazon_photo.npz": "bdb98b54cd3125bfa69b23ba0aae84fabcb770c6727175b8f6eb1d64f3be4b2b",
    "bipartite.X": "6e267c56e89ff8e946877c698b340a24f188a998743ff143247202c4a9f9be5a",
    "bipartite.graph": "6a68abd469cdeac5941bad64ac4955959d5f0eb890618e6a063a187550dbd0b7",
    "bipartite.split": "0928e06f415bd10e3cf42017fb206c46fdb7bd45c0098802a1652454aafc2dcc",
    "bipartite.y": "acc604665adfd8b4748c73f11550713e3d76ed1686cd32cb728c11783d9e744b",
}

# By file name: the datasets in the package's own format, as converted from the originals.
CONVERTED = {
    "actor.npz": "793d84567d20f80d36ed69d92bf346fea1592707373fbd75f0e3cef3c5acab4b",
    "bipartite.npz": "55ea1c9d1a1c46db32fa5c3448455133b68433479a5d36e559263ecbd2647eee",
    "bipartite_paper.npz": "0f7326b51f7457a72fb6d3269067e755b296ec7246b074574c2b4b26dfbb5ac8",
    "chameleon.npz": "c8555e688fe9d3ede0236e04a847097c4028145316f85ead79bae2841d7ab7ae",
    "chameleon_filtered.npz": "70fc431a1a9250a55f2cb4a51de0b0e734d60c2883d81600fa634633870c81a8",
    "citeseer.npz": "80476d7824f316df4681ae14212363f49e93d3b8823014da4c46f41f300a45df",
    "computers.npz": "b4f1b82091d49094e91c1385160ece7ffbc04d005ab7388225ed283975045034",
    "cora.npz": "9ffea6373fbd514545dee15430a71bef7c1ef004ac87011aace8b668427b751b",
    "cornell.npz": "c9f14d01a6df33610ebdbcef88cc4b6b01b8f3eec0de8e35808a70b796394e75",
    "cornell_geomgcn.npz": "050b0e6cd55ea848833e925e0d41e6f593fb2e55f2ec05700d1db23a4f8cc675",
    "minesweeper.npz": "23e3e008a01d0e26b042b245c5b07f36c5ae9fc3600e6561ef5dd85d592e8825",
    "photo.npz": "81027991c95f5c4e7be1696e7aaf14babc2dc788db92dab15802ed76f6c069f8",
    "pubmed.npz": "482812b0619c364970f2f4ed1da7d14456b37c2d29eaf98b6a67004c3fbecc91",
    "squirrel.npz": "c8152775ad82883d55b11dfb1be31177c7a423662a773c36c2ae18a1c364e18c",
    "squirrel_filtered.npz": "15a9fce45913dd53493cd0fdaa0631b2718cf9040592f813c9c1dab63c02aea3",
    "texas.npz": "a7124ad4225e0931c1e5db703df047787c608643e563e26583a7bae46e4005ca",
    "tolokers.npz": "e045d5bd05bd1c690837ed184474104882164f4931eaeb3a4f92ab95cc44b310",
    "wisconsin.npz": "7613a97183a0c0163602184a588358e22f6c1e1ebd6a843c1650fb69c32d145f",
}

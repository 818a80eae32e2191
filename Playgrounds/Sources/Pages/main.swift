// SPDX-License-Identifier: Apache-2.0
// swift run --package-path Playgrounds Pages [PAGE …]   runs pages, all by default
// swift run --package-path Playgrounds Pages --update   … and copies what they print into the guides
// swift run --package-path Playgrounds Pages chat URL   a chat for the terminal, over WebSocket
// swift run --package-path Playgrounds Pages browse URL a small Gemini browser

import Glibc

// The guide Migrating uses URLSession, which can be kept from using a proxy only by this variable.
setenv("no_proxy", "127.0.0.1,localhost", 1)
exit(await Pages.run(Array(CommandLine.arguments.dropFirst())))

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import LastroCurl
internal import LastroWebSocket

@main
struct LastroCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lastro",
    abstract: "Fetches resources over HTTP, and speaks WebSocket, Gemini and plain streams, with Lastro.",
    version: LastroVersion.current,
    subcommands: [
      FetchCommand.self, EventsCommand.self, ExplainCommand.self, BatchCommand.self, BenchCommand.self,
      PinsCommand.self,
      WebSocketCommand.self, GeminiCommand.self, ConnectCommand.self, ServeCommand.self, DoctorCommand.self,
    ])

  static func main() async {
    let words = Array(CommandLine.arguments.dropFirst())
    SecretWords.hide()
    await main(CurlWords.expanded(words))
  }
}

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
    if let problem = ProcessLimits.problem() {
      Console.error("lastro: \(problem)")
      exit(withError: ExitCode.failure)
    }
    let words = Array(CommandLine.arguments.dropFirst())
    SecretWords.hide()
    do {
      var command = try parseAsRoot(CurlWords.expanded(words))
      do {
        if var asynchronous = command as? any AsyncParsableCommand {
          try await asynchronous.run()
        } else {
          try command.run()
        }
      } catch let error as ValidationError {
        refuse(error, of: type(of: command))
      }
    } catch {
      exit(withError: error)
    }
  }

  /// Reports an error in the same way as the parser. For an error that a command finds itself, the parser would show
  /// the usage of `lastro`.
  private static func refuse(_ error: ValidationError, of command: any ParsableCommand.Type) -> Never {
    Console.error("Error: \(error.message)")
    Console.error("Usage: \(usageString(for: command))")
    Console.error("  See 'lastro \(command._commandName) --help' for more information.")
    exit(withError: ExitCode.validationFailure)
  }
}

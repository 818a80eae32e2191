// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroHTTP
internal import LastroWebSocket

@main
struct LastroCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lastro",
    abstract: "Fetches resources over HTTP, and speaks WebSocket, Gemini and plain streams, with Lastro.",
    usage: """
      lastro <subcommand>
      lastro [get|post|put|patch|delete|head|options] <url> [options of fetch]
      """,
    discussion: """
      'lastro URL' and 'lastro METHOD URL' are short for 'lastro fetch'.

      EXAMPLES:
        lastro localhost:8080/health
        lastro https://api.example.org/users/7 -H 'Accept: application/json'
        lastro post https://api.example.org/users --json '{"name": "Ann"}'
        lastro fetch -O https://example.org/a.zip -O https://example.org/b.zip -Z
        lastro explain https://api.example.org/users --retry 3
        lastro bench https://localhost:8443/ -n 1000 -c 20
      """,
    version: PackageVersion.text,
    subcommands: [
      FetchCommand.self, EventsCommand.self, ExplainCommand.self, ReplayCommand.self, BatchCommand.self,
      BenchCommand.self, PinsCommand.self, TopCommand.self,
      WebSocketCommand.self, GeminiCommand.self, ConnectCommand.self, ServeCommand.self, MockCommand.self,
      ProxyCommand.self, DoctorCommand.self,
    ])

  static func main() async {
    if let problem = ProcessLimits.problem() {
      Console.error("lastro: \(problem)")
      exit(withError: ExitCode.failure)
    }
    let words = Array(CommandLine.arguments.dropFirst())
    SecretWords.hide()
    do {
      let parsed = try parse(words)
      do {
        switch parsed {
        case .fetch(let line): try await line.run()
        case .other(var command):
          if var asynchronous = command as? any AsyncParsableCommand {
            try await asynchronous.run()
          } else {
            try command.run()
          }
        }
      } catch let error as ValidationError {
        refuse(error, of: parsed.type)
      } catch let error as StandardInputReader.ReadFailure {
        Console.error("lastro: \(error)")
        throw ExitCode.failure
      } catch let error as ResponseOutput.WriteFailure {
        Console.error("lastro: \(error)")
        throw error.isTimeout ? ExitStatus.of(.timeout) : ExitCode.failure
      }
    } catch {
      exit(withError: error)
    }
  }

  /// A command line: one or more requests of `fetch`, or another command.
  enum Parsed {
    case fetch(FetchLine)
    case other(any ParsableCommand)

    /// The type of the command.
    var type: any ParsableCommand.Type {
      switch self {
      case .fetch: FetchCommand.self
      case .other(let command): Swift.type(of: command)
      }
    }
  }

  /// Reads a command line.
  ///
  /// - Parameter words: the command line without the program's name.
  static func parse(_ words: [String]) throws -> Parsed {
    let words = CurlWords.expanded(try CommandWords.resolved(words))
    guard words.first == "fetch" else { return .other(try parseAsRoot(words)) }
    let requests = try Console.checked { try CurlWords.requests(Array(words.dropFirst())) }
    let commands = try requests.map { try parseAsRoot(["fetch"] + $0) }
    let fetches = commands.compactMap { $0 as? FetchCommand }
    // Help is a command of its own.
    guard fetches.count == commands.count else { return .other(commands[0]) }
    return .fetch(FetchLine(fetches))
  }

  /// Prints a command's own validation error in the format of the parser, with the usage of that command, and exits.
  /// The parser would print the usage of `lastro` instead.
  private static func refuse(_ error: ValidationError, of command: any ParsableCommand.Type) -> Never {
    Console.error("Error: \(error.message)")
    Console.error("Usage: \(usageString(for: command))")
    Console.error("  See 'lastro \(command._commandName) --help' for more information.")
    exit(withError: ExitCode.validationFailure)
  }
}

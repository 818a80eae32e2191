// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro
import LastroHAR
import LastroSupport
import LastroTesting

/// Serves recorded or described responses on this machine.
struct MockCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mock",
    abstract: "Serves an HTTP archive or an OpenAPI document on this machine, with faults.",
    discussion: """
      FILE is a HAR file, such as a cassette of a test, or an OpenAPI 3 document in JSON. Of an archive, a request gets \
      the response that was recorded for its method and path, and for the query that is most like its own. Equal ones \
      are served in turn. Of a document, it gets the first example of the operation, or a value of its schema.

      It listens on a port of 127.0.0.1 until SIGINT or SIGTERM, and prints its address. It serves 64 connections at a \
      time, and refuses bodies of more than 16 MiB. Requests of browsers for pages of other hosts get 403.

      EXIT STATUS: 0 when a signal ended it; 1 when it cannot read FILE, listen or write; 64 for a command line that is \
      not understood.

      EXAMPLES:
        lastro mock Fixtures/octocat.har
        lastro mock openapi.json --port 8080 --fault 'GET /orders/*: 503 every 3'
        lastro mock openapi.json --fault '* *: delay 200ms' --fault 'POST *: cut 10 5%'
      """)

  /// The source of responses.
  private enum Source: Sendable {
    case archive(MockArchive)
    case description(MockDescription)
  }

  @Argument(help: "HAR file, or OpenAPI 3 document in JSON.")
  var file: String
  @Option(name: .shortAndLong, help: "Port. Default: a free one.")
  var port: UInt16 = 0
  @OptionGroup var faults: ServerFaultFlags

  func validate() throws { _ = try faults.parsed() }

  func run() async throws {
    let source = try read()
    let faults = ServerFaults(try self.faults.parsed(), seed: self.faults.seed)
    let end = OneAnswer<Void>()
    let signals = Signals { end.give(()) }
    defer { signals.restore() }
    let server = try LocalServer.start(port: port) { connection in
      try connection.serveHTTP { request in
        if let refusal = LocalServer.refusal(of: request) { return refusal }
        let effects = faults.effects(request.method, request.path)
        guard ServerFaults.wait(effects, connection) else { return .fault(.close) }
        let response =
          switch source {
          case .archive(let archive): archive.response(to: request)
          case .description(let description): description.response(to: request)
          }
        return Self.applying(effects, to: response, of: request)
      }
    }
    defer { server.stop() }
    let count =
      switch source {
      case .archive(let archive): "\(archive.count) recorded exchanges"
      case .description(let description): "\(description.count) operations"
      }
    try Console.out(server.baseURL)
    Console.error("lastro: serves \(count) until you press Ctrl-C")
    await end.value()
  }

  private static func applying(
    _ effects: [ServerFault.Effect], to response: LoopbackResponse, of request: LoopbackRequest
  ) -> LoopbackResponse {
    for effect in effects {
      switch effect {
      case .delay: continue
      case .status(let status): return LoopbackResponse(status: status)
      case .reset: return .fault(.reset)
      case .hang: return .fault(.stall)
      case .cut(let count):
        guard count < response.sentBody(to: request.method).count else { continue }
        var cut = response
        cut.fault = .truncateBody(after: count)
        return cut
      }
    }
    return response
  }

  private func read() throws -> Source {
    do {
      guard let text = try PrivateFile(file).read(isOwn: false) else {
        throw ConfigurationError("the file does not exist", hint: "name a HAR file or an OpenAPI document in JSON")
      }
      return try Self.source(text)
    } catch {
      let words = (error as? ConfigurationError).map { "\($0)" } ?? LocalServer.words(error)
      Console.error("lastro: cannot serve \(file.onOneLine): \(words.onOneLine)")
      throw ExitCode.failure
    }
  }

  private static func source(_ text: String) throws(ConfigurationError) -> Source {
    let data = Data(text.utf8)
    guard let document = try? JSONDecoder().decode(JSONValue.self, from: data) else {
      let start = text.drop { $0.isWhitespace }
      guard start.hasPrefix("{") || start.hasPrefix("[") else {
        throw ConfigurationError(
          "it is not JSON",
          hint: "convert YAML, for example with 'yq -o=json' or Python's yaml and json")
      }
      throw ConfigurationError("it is not valid JSON", hint: "check that the file is complete")
    }
    if document["log"] != nil { return .archive(MockArchive(try HAR(json: data))) }
    return .description(try MockDescription(document))
  }
}

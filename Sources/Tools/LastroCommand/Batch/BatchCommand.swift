// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro
import LastroCurl
import LastroSupport

struct BatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "batch",
    abstract:
      "Reads one JSON request per line from standard input, and writes one JSON result per line as each finishes.",
    discussion: """
      Keys: id, url, method, headers ([[name, value], …]), body or body_base64, include_body, and the flags of \
      'lastro fetch' with underscores (max_body, attempt_timeout, cacert, proxy, retries, http_version, tls_version, …). \
      Pins are flags of this command and apply to all lines.

      EXIT STATUS: 0 when the input was read to its end, whatever the results are.
      """)

  /// The default limit for bodies: a batch keeps results in memory until they are written.
  private static let defaultMaximumBody = RequestOptions.defaultMaximumBodyBytes

  @Option(help: "Maximum number of requests in flight.")
  var concurrency = 16
  @OptionGroup var pins: PinFlags

  func validate() throws {
    if concurrency < 1 { throw ValidationError("--concurrency \(concurrency) is out of range; give 1 or more.") }
  }

  func run() async throws {
    let judge = try Console.checked { try pins.judge() }
    let stack = try Console.checked { try CurlNetworkStack(pins.engine(judge)) }
    let runner = Runner(stack: stack, collects: true)
    let writer = ResultWriter()
    let unread = await withTaskGroup(of: Void.self) { group -> (any Error)? in
      var lines = StandardInputLines(cutsLongLines: true)
      var running = 0
      while true {
        let line: Data
        do {
          guard let next = try await lines.next() else { return nil }
          line = next
        } catch {
          return error
        }
        if line.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { continue }
        if await writer.failure != nil { return nil }
        if running == concurrency {
          await group.next()
          running -= 1
        }
        group.addTask { await writer.write(await Self.perform(line, runner)) }
        running += 1
      }
    }
    await stack.shutDown(cancelling: true)
    await judge?.flushReports()
    if let failure = await writer.failure { throw failure }
    if let unread { throw unread }
  }

  private static func perform(_ line: Data, _ runner: Runner) async -> String {
    do {
      guard line.count <= StandardInputLines.maximumLength else {
        throw ConfigurationError(
          "the line is longer than \(StandardInputLines.maximumLength) bytes",
          hint: "send a large body by lastro fetch -T")
      }
      guard String(validating: line, as: UTF8.self) != nil else {
        throw ConfigurationError("the line is not UTF-8", hint: "save the file as UTF-8")
      }
      var request = try JSONDecoder().decode(BatchRequest.self, from: line)
      request.specification.maxBody = request.specification.maxBody ?? defaultMaximumBody
      let sink = ResponseOutput(request.includesBody ? .memory : .nowhere, hashes: true)
      var report = try await runner.run(request.specification, into: sink)
      report.id = request.id
      if request.includesBody { report.body = sink.kept }
      return report.jsonLine
    } catch {
      var report = Report(url: "")
      report.id = try? JSONDecoder().decode(Identified.self, from: line).id
      report.error = .init(.request, FailureCode("invalid_batch_line"), explanation(of: error))
      return report.jsonLine
    }
  }

  private static func explanation(of error: any Error) -> String {
    error is DecodingError
      ? "the line is not a JSON object (write such as {\"url\": \"https://example.com/\"})" : "\(error)"
  }

  /// The keys that can be read from an invalid line.
  private struct Identified: Decodable {
    var id: JSONValue?
  }
}

/// Writes one line at a time, in the order in which requests finish.
private actor ResultWriter {
  /// The failure after which nothing more is written.
  private(set) var failure: ResponseOutput.WriteFailure?

  func write(_ line: String) {
    guard failure == nil else { return }
    do {
      try Console.out(line)
    } catch {
      failure = error
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro
import LastroHTTP
import LastroSupport

/// Runs a recorded call again, without a network.
struct ReplayCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Runs a recorded call again, without a network, and prints its ledger.",
    discussion: """
      FILE is a trace that CallRecorder or 'lastro fetch --record' wrote. The call gets the recorded times, random \
      numbers, requests and decisions, and the engine reads the recorded bytes and frames. Transfers whose bytes are \
      not in the trace, such as those from a cache, get their recorded outcome.

      EXIT STATUS: 0 if the ledger is that of the call, or with --if or --without; 1 if it differs, or FILE cannot be \
      replayed; 64 for a command line that is not understood.

      EXAMPLES:
        lastro fetch --record . --retry 3 https://api.example.org/users
        lastro replay call-1764460800-4711-1.lastro
        lastro replay call-1764460800-4711-1.lastro --if total=2s
        lastro replay call-1764460800-4711-1.lastro --if retry=none
        lastro replay call-1764460800-4711-1.lastro --step
      """)

  @Argument(help: "File of the trace.")
  var file: String
  @Option(
    name: .customLong("if"),
    help: """
      Change of the call, to see what would have happened: total=2s, attempt=500ms, idle=1s or connect=1s for its \
      timeouts, attempts=2 for the maximum number of attempts, retry=none. Repeatable.
      """)
  var changes: [String] = []
  @Option(
    help: "Layer whose refusals or answers are left out: breaker, limiter, pacer or cache. Repeatable.")
  var without: [String] = []
  @Flag(help: "Print each event, and wait for Enter before the next one.")
  var step = false
  @Flag(help: "Print the ledger as one JSON object.")
  var json = false

  func validate() throws { _ = try variation() }

  func run() async throws {
    let variation = try variation()
    let trace = try read()
    let stepper = Stepper(isOn: step)
    let replay = CallReplay(trace, variation, report: { stepper.pass($0) }) { clock in
      ReplayEngine(trace, clock) { stepper.pass("  \($0)") }
    }
    let outcome = await replay.run()
    try Console.out(json ? outcome.json : outcome.ledger)
    for omission in ReplayOmission.allCases {
      let count = outcome.omissions.count { $0 == omission }
      if count == 0 { continue }
      let all = "\(outcome.transfers) transfer\(outcome.transfers == 1 ? "" : "s")"
      Console.error("lastro: of \(all), \(count) got the recorded outcome, because the transfer \(omission.text)")
    }
    guard variation.isEmpty, !outcome.isEqual else { return }
    if !outcome.omissions.contains(.unfinished) {
      Console.error("lastro: the ledger differs from that of the recorded call, which is:\n\(trace.ledger)")
    }
    throw ExitCode.failure
  }

  private func read() throws -> CallTrace {
    do {
      guard let text = try PrivateFile(file).read(isOwn: false) else {
        throw ConfigurationError("the file \(file.onOneLine) does not exist", hint: "name the file of a trace")
      }
      return try CallTrace(reading: text)
    } catch {
      let words = (error as? ConfigurationError).map { "\($0)" } ?? "cannot read \(file.onOneLine)"
      Console.error("lastro: \(words.onOneLine)")
      throw ExitCode.failure
    }
  }

  private func variation() throws -> ReplayVariation {
    var variation = ReplayVariation()
    for change in changes { try apply(change, to: &variation) }
    for layer in without {
      switch layer {
      case "breaker": variation.without.insert(FailureCode(rawValue: "circuit_open"))
      case "limiter": variation.without.insert(FailureCode(rawValue: "concurrency_limited"))
      case "pacer": variation.without.insert(FailureCode(rawValue: "rate_limited"))
      case "cache": variation.withoutCache = true
      default:
        throw ValidationError("--without \(layer.onOneLine) is unknown; write breaker, limiter, pacer or cache.")
      }
    }
    return variation
  }

  private func apply(_ change: String, to variation: inout ReplayVariation) throws {
    let parts = change.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let refusal = ValidationError(
      "--if \(change.onOneLine) cannot be parsed; write a timeout such as total=2s, attempts=2, or retry=none.")
    guard parts.count == 2 else { throw refusal }
    switch parts[0] {
    case "retry":
      guard parts[1] == "none" else { throw refusal }
      variation.retriesNothing = true
    case "attempts":
      guard let count = Int(parts[1]), count >= 1 else { throw refusal }
      variation.maximumAttempts = count
    case "total", "attempt", "idle", "connect":
      guard let duration = Self.duration(parts[1]) else { throw refusal }
      switch parts[0] {
      case "total": variation.total = duration
      case "attempt": variation.attempt = duration
      case "idle": variation.idle = duration
      default: variation.connect = duration
      }
    default: throw refusal
    }
  }

  /// Parses a positive duration in seconds or milliseconds, such as `2s`, `1.5` or `500ms`.
  static func duration(_ text: String) -> Duration? {
    let isMilliseconds = text.hasSuffix("ms")
    let digits = isMilliseconds ? text.dropLast(2) : text.hasSuffix("s") ? text.dropLast() : text[...]
    guard digits.allSatisfy({ $0.isNumber || $0 == "." }), let number = Double(digits), number > 0, number < 1e9 else {
      return nil
    }
    return .seconds(isMilliseconds ? number / 1_000 : number)
  }
}

/// Prints the events of a replay, and waits after each.
private struct Stepper: Sendable {
  let isOn: Bool

  func pass(_ line: String) {
    guard isOn else { return }
    try? ResponseOutput.writeAll(Data(line.onOneLine.utf8), to: STDERR_FILENO)
    // Without a terminal, the end of the input ends the waits.
    _ = readLine()
    if isatty(STDIN_FILENO) == 0 { Console.error("") }
  }
}

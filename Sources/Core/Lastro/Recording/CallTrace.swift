// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes

/// The trace of a call, as in a file: JSON Lines, the options of the call first and then its events.
package struct CallTrace: Sendable, Equatable {
  /// The version of the format. A change that another version could misread increases it.
  package static let version = 1

  package var head: TraceHead
  package var events: [TraceEvent]

  package init(head: TraceHead, events: [TraceEvent]) {
    self.head = head
    self.events = events
  }

  /// The contents of a file.
  package var text: String {
    let lines = [head.jsonText()] + events.map { $0.jsonText() }
    return lines.map { $0 + "\n" }.joined()
  }

  /// Reads the contents of a file.
  ///
  /// - Throws: `ConfigurationError` for a text that is not a trace, and for a trace of another version.
  package init(reading text: String) throws(ConfigurationError) {
    let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { Data($0) }
    guard let first = lines.first, let form = try? JSONDecoder().decode(TraceHead.Form.self, from: first) else {
      throw ConfigurationError("the file is not the trace of a call", hint: "give a file that a call recorder wrote")
    }
    guard form.lastroTrace == Self.version else {
      throw ConfigurationError(
        "the trace has version \(form.lastroTrace) of the format, written by Lastro \(form.lastro.onOneLine); this is "
          + "Lastro \(PackageVersion.text), which reads version \(Self.version)",
        hint: "replay it with that version of lastro")
    }
    var number = 1
    do {
      head = try JSONDecoder().decode(TraceHead.self, from: first)
      events = try lines.dropFirst().map { line in
        number += 1
        return try JSONDecoder().decode(TraceEvent.self, from: line)
      }
    } catch {
      throw ConfigurationError(
        "line \(number) of the trace cannot be read: \(DecodeFailure.line(error))", hint: "the file was changed or cut")
    }
    guard events.last?.event == .callEnded || events.last?.event == .bodyEnded else {
      throw ConfigurationError("the trace ends before its call", hint: "the file was cut")
    }
  }

  /// The ledger that the recorded call ended with.
  package var ledger: String { events.last { $0.event == .callEnded }?.ledger ?? "" }
  /// The same as JSON.
  package var ledgerJSON: String { events.last { $0.event == .callEnded }?.ledgerJson ?? "" }
}

/// The first line of a trace: the version, and the options of the call.
package struct TraceHead: Sendable, Codable, Equatable {
  /// The part that every version can read.
  struct Form: Decodable {
    var lastroTrace: Int
    var lastro: String

    enum CodingKeys: String, CodingKey { case lastroTrace = "lastro_trace", lastro }
  }

  struct Quota: Sendable, Codable, Equatable {
    var capacity: Int
    var cost: Int
    var throttled: Int
  }

  package var lastroTrace = CallTrace.version
  package var lastro = PackageVersion.text
  package var call: UInt64
  package var isStream: Bool
  package var bodies: Bool
  var acceptance: String
  var hooks: UInt8
  var waitingHooks: UInt8
  var makerWaits: Bool
  var signs: Bool
  var epoch: Int64
  var maximumBodyBytes: Int
  var maximumErrorBodyBytes: Int
  var maximumAttempts: Int
  var maximumRetryAfter: Int64
  var quota: Quota?
  var timeouts: TraceTimeouts

  enum CodingKeys: String, CodingKey {
    case lastroTrace = "lastro_trace", lastro, call, isStream = "stream", bodies, acceptance, hooks
    case waitingHooks = "waiting_hooks", makerWaits = "maker_waits", signs, epoch
    case maximumBodyBytes = "maximum_body_bytes", maximumErrorBodyBytes = "maximum_error_body_bytes"
    case maximumAttempts = "maximum_attempts", maximumRetryAfter = "maximum_retry_after_ns", quota
    case timeouts = "timeouts_ns"
  }
}

/// Timeouts in nanoseconds.
struct TraceTimeouts: Sendable, Codable, Equatable {
  var connect: Int64?
  var attempt: Int64?
  var idle: Int64?
  var total: Int64?

  init(_ timeouts: Timeouts) {
    connect = timeouts.connect?.wholeNanoseconds
    attempt = timeouts.attempt?.wholeNanoseconds
    idle = timeouts.idle?.wholeNanoseconds
    total = timeouts.total?.wholeNanoseconds
  }

  var timeouts: Timeouts {
    var timeouts = Timeouts.standard
    timeouts.connect = connect.map { .nanoseconds($0) }
    timeouts.attempt = attempt.map { .nanoseconds($0) }
    timeouts.idle = idle.map { .nanoseconds($0) }
    timeouts.total = total.map { .nanoseconds($0) }
    return timeouts
  }
}

/// A line of a trace after the first. Which members a line has depends on its event.
package struct TraceEvent: Sendable, Codable, Equatable {
  package enum Name: String, Sendable, Codable {
    case callStarted = "call_started", attemptStarted = "attempt_started", transferStarted = "transfer_started"
    case transferEnded = "transfer_ended", attemptEnded = "attempt_ended", retryScheduled = "retry_scheduled"
    case callEnded = "call_ended", bodyEnded = "body_ended"
    case random, quota, opinion, transfer, began, used, sent, blocked, read, ended, failed, delivery, closed
    case dialFailed = "dial_failed"
  }

  package var event: Name
  /// The times that the pipeline asked for since its previous event.
  var clock: [Int64]?
  var attempt: Int?
  var hop: Int?
  /// The time on the engine's clock, from the first event of the engine on.
  package var at: Int64?
  package var transfer: Int?
  package var link: UInt64?
  package var pieces: [TracePiece]?
  /// The frames of HTTP/2 that were sent or received.
  package var frames: [TraceFrame]?
  package var request: TraceRequest?
  package var answer: TraceAnswer?
  package var error: TraceError?
  package var facts: TraceFacts?
  package var used: TraceLink?
  package var settings: EngineNote?
  package var enqueued: Int64?
  package var started: Int64?
  package var isClean: Bool?
  /// The reason why the bytes of the transfer are not in the trace; `nil` if they are.
  package var omission: ReplayOmission?
  var random: UInt64?
  var tokens: Int?
  var delay: Int64?
  var source: String?
  var quotaLeft: Int?
  var retryEnd: TraceRetryEnd?
  var outcome: String?
  package var acknowledged: UInt64?
  package var queued: UInt64?
  package var acknowledgedAt: Int64?
  package var text: String?
  package var ledger: String?
  package var ledgerJson: String?

  package init(_ event: Name) { self.event = event }

  enum CodingKeys: String, CodingKey {
    case event, clock, attempt, hop, at, transfer, link, pieces = "bytes", frames, request, answer, error, facts
    case used = "connection", settings, enqueued, started, isClean = "clean", omission = "left_out", random, tokens
    case delay = "delay_ns", source, quotaLeft = "quota_left", retryEnd = "retry_end", outcome, acknowledged, queued
    case acknowledgedAt = "acknowledged_at", text, ledger, ledgerJson = "ledger_json"
  }
}

/// Bytes: a text, other bytes in base64, or a number of bytes that were left out.
package enum TracePiece: Sendable, Codable, Equatable {
  case text(String)
  case base64(String)
  case left(Int)

  private enum CodingKeys: String, CodingKey { case text, base64, left }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let text = try container.decodeIfPresent(String.self, forKey: .text) {
      self = .text(text)
    } else if let base64 = try container.decodeIfPresent(String.self, forKey: .base64) {
      self = .base64(base64)
    } else {
      self = .left(try container.decode(Int.self, forKey: .left))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .text(let text): try container.encode(text, forKey: .text)
    case .base64(let text): try container.encode(text, forKey: .base64)
    case .left(let count): try container.encode(count, forKey: .left)
    }
  }

  /// The bytes. Those that were left out are `*`.
  package var bytes: [UInt8] {
    switch self {
    case .text(let text): Array(text.utf8)
    case .base64(let text): Data(base64Encoded: text).map { Array($0) } ?? []
    case .left(let count): Array(repeating: UInt8(ascii: "*"), count: max(0, min(count, 64 << 20)))
    }
  }

  /// Returns the pieces of bytes, of which runs of at least 32 `*` are left out.
  static func pieces(of bytes: ArraySlice<UInt8>) -> [TracePiece] {
    var pieces: [TracePiece] = []
    var start = bytes.startIndex
    func add(_ part: ArraySlice<UInt8>) {
      guard !part.isEmpty else { return }
      if let text = String(validating: part, as: UTF8.self) {
        pieces.append(.text(text))
      } else {
        pieces.append(.base64(Data(part).base64EncodedString()))
      }
    }
    var index = start
    while index < bytes.endIndex {
      let end = bytes[index...].firstIndex { $0 != UInt8(ascii: "*") } ?? bytes.endIndex
      if end - index >= 32 {
        add(bytes[start..<index])
        pieces.append(.left(end - index))
        start = end
      }
      index = max(end, index + 1)
    }
    add(bytes[start...])
    return pieces
  }
}

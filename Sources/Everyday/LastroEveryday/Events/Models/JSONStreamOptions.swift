// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The framing and limits of a stream of JSON texts, which the parameters of `jsonLines` and `jsonSequence` describe.
struct JSONStreamOptions: Sendable {
  /// The separation of JSON texts in a stream.
  enum Framing: Sendable, Hashable {
    /// JSON Lines, also known as NDJSON: one text per line. Lines end in LF or CRLF; the last one may have no
    /// terminator. Empty lines are skipped.
    case lines
    /// A JSON text sequence (RFC 7464): a record separator before each text, and LF after it. A text that is or may be
    /// truncated, such as a number without an LF after it, fails with code `truncated_stream`.
    case textSequence
  }

  /// The framing of the texts. Default ``Framing/lines``.
  var framing: Framing = .lines
  /// The maximum size of a text in bytes. Default 1 MiB; at least 1. A larger text ends the stream with stage `limit`,
  /// code `event_too_large`.
  var maximumTextBytes = 1 << 20
  /// The maximum time from the head of the response to the first JSON text, whatever other bytes arrive, such as empty
  /// lines. If it passes, the stream fails with stage `timeout`, code `first_event_timeout`. Until the first text it
  /// replaces the idle timeout, as ``EventStreamOptions/firstEvent`` does. Default `nil`: no limit but that of silence.
  /// Must be positive.
  var firstText: Duration?

  /// Creates the default options.
  init() {}

  /// Creates the default options with another framing.
  init(framing: Framing) { self.framing = framing }

  /// The limit for the first text, with its names in errors.
  var firstElement: FirstElementLimit? {
    firstText.map { FirstElementLimit(limit: $0, element: "JSON text", option: "the parameter firstText") }
  }

  /// Throws a refusal of invalid options.
  func check() throws(TransportError) {
    guard maximumTextBytes >= 1 else {
      throw .refused(
        .invalidOption, "maximumTextBytes is \(maximumTextBytes), below the minimum of 1",
        hint: "give 1 or more")
    }
    if let firstText, firstText <= .zero {
      throw .refused(
        .invalidOption, "firstText is \(firstText.brief), which is not positive",
        hint: "give a positive one, or nil for no limit")
    }
  }
}

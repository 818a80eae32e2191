// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// How the JSON texts of a ``JSONStream`` are told apart, and what it takes.
public struct JSONStreamOptions: Sendable {
  /// What separates JSON texts.
  public enum Framing: Sendable, Hashable {
    /// JSON Lines, also known as NDJSON: a text a line, which ends in LF or CRLF; the last may have no end. Empty lines
    /// are passed over.
    case lines
    /// A JSON text sequence (RFC 7464): a record separator before each text, LF behind it. A text that is cut, or may
    /// be, as a number without the LF behind it is, fails with code `truncated_stream`.
    case textSequence
  }

  /// Default ``Framing-swift.enum/lines``.
  public var framing: Framing = .lines
  /// Most bytes of a text. Default 1 MiB. A larger one ends the stream with stage `limit`, code `event_too_large`. At
  /// least 1.
  public var maximumTextBytes = 1 << 20
  /// The longest silence before the first byte, in place of the idle timeout, as ``EventStreamOptions/firstEvent``.
  /// Default 5 min.
  public var firstText: Duration = .seconds(300)

  /// Makes the default options.
  public init() {}

  /// Makes the default options, with another framing.
  public init(framing: Framing) { self.framing = framing }

  /// Refuses what means nothing.
  func check() throws(TransportError) {
    guard maximumTextBytes >= 1 else {
      throw .refused(
        .invalidOption, "JSONStreamOptions.maximumTextBytes is \(maximumTextBytes), below the minimum of 1",
        hint: "give 1 or more")
    }
    guard firstText > .zero else {
      throw .refused(
        .invalidOption, "JSONStreamOptions.firstText is \(firstText.brief), which is not positive",
        hint: "give a positive one; without an idle timeout it does not count")
    }
  }
}

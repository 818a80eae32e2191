// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The limits of JSON Lines, which the parameters of `jsonLines` describe.
struct JSONStreamOptions: Sendable {
  /// The maximum size of a text in bytes. Default 1 MiB; at least 1. A larger text ends the stream with stage `limit`,
  /// code `event_too_large`.
  var maximumTextBytes = 1 << 20
  /// The maximum time from the head of the response to the first JSON text, whatever other bytes arrive, such as empty
  /// lines. If it passes, the stream fails with stage `timeout`, code `first_event_timeout`. Until the first text it
  /// replaces the idle timeout, as `firstEvent` of `events` does. Default `nil`: no limit but that of silence.
  /// Must be positive.
  var firstText: Duration?

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

// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// The priority of a request among others to the same server (RFC 9218). Servers may ignore it.
///
/// ```swift
/// var options = RequestOptions()
/// options.priority = RequestPriority(urgency: 5)  // after the requests without a priority
/// ```
public struct RequestPriority: Sendable, Hashable {
  /// The urgency, from 0, which is served first, to 7. Default 3; 7 is for background work (RFC 9218 §4.1).
  public var urgency: Int
  /// Whether the response is useful before it is complete, so that the server may send it at the same time as others
  /// of the same urgency (RFC 9218 §4.2). Default false.
  public var isIncremental: Bool

  /// Creates a priority.
  ///
  /// - Parameters:
  ///   - urgency: 0, which is served first, to 7. Default 3. A request with another number is refused.
  ///   - isIncremental: whether the response is useful before it is complete. Default false.
  public init(urgency: Int = 3, isIncremental: Bool = false) {
    self.urgency = urgency
    self.isIncremental = isIncremental
  }

  /// The value of the `Priority` field.
  package var fieldValue: String { isIncremental ? "u=\(urgency), i" : "u=\(urgency)" }

  /// - Throws: stage `request`, code `invalid_option`, if the urgency is out of range.
  func check() throws(TransportError) {
    guard !(0...7).contains(urgency) else { return }
    throw .refused(
      .invalidOption, "RequestPriority.urgency is \(urgency), which is out of range (0…7)",
      hint: "give 0, which is served first, to 7")
  }
}

extension ResourceRequest {
  /// Adds the `Priority` field of the options, unless the request has one.
  mutating func addPriority() {
    guard options.mayDifferFromDefaults, let priority = options.priority, head.headerFields[.priority] == nil else {
      return
    }
    head.headerFields[.priority] = priority.fieldValue
  }
}

extension HTTPField.Name {
  // Forced: letters always form a valid field name (RFC 9110 §5.6.2), and there is no fallback.
  // swift-format-ignore: NeverForceUnwrap
  /// `Priority` (RFC 9218 §5).
  static let priority = HTTPField.Name("Priority")!
}

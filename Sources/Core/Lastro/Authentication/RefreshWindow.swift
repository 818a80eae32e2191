// SPDX-License-Identifier: Apache-2.0

extension BearerAuthenticator {
  /// A limit for the number of refreshes in a period of time.
  package struct RefreshWindow: Sendable, Hashable {
    /// The maximum number of refreshes within ``duration``.
    package let count: Int
    /// The length of the sliding window.
    package let duration: Duration

    /// A window of 5 refreshes within 30 s.
    package static let standard = RefreshWindow(unchecked: 5, per: .seconds(30))

    /// Creates a window.
    ///
    /// - Throws: ``ConfigurationError`` if the count is less than 1 or the duration is not positive.
    package init(count: Int, per duration: Duration) throws(ConfigurationError) {
      guard count >= 1, duration > .zero else {
        throw ConfigurationError(
          "a refresh window of \(count) refreshes within \(duration.brief) would never refresh",
          hint: "give at least 1 and a positive duration, or nil for no limit")
      }
      self.init(unchecked: count, per: duration)
    }

    private init(unchecked count: Int, per duration: Duration) {
      self.count = count
      self.duration = duration
    }
  }
}

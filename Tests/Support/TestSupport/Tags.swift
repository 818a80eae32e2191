// SPDX-License-Identifier: Apache-2.0

package import Testing

extension Tag {
  /// Marks a test that runs over `CurlTransport` only, because `DialerTransport` still has an engine of its own.
  ///
  /// The test runs over both once they share one engine.
  @Tag package static var engineOnly: Self
}

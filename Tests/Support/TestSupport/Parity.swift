// SPDX-License-Identifier: Apache-2.0

package import Testing

/// A trait that names the rows of `Docs/Parity.md` that a test covers. `.ci/pages.py` checks the names.
package struct Parity: TestTrait {
  package var comments: [Comment]
}

extension Trait where Self == Parity {
  /// Marks a test that covers these rows.
  package static func parity(_ rows: String...) -> Self {
    Self(comments: ["rows of Docs/Parity.md: \(rows.joined(separator: ", "))"])
  }
}

// SPDX-License-Identifier: Apache-2.0

package import Testing

/// Names the rows of `Docs/Parity.md` whose behaviour a test shows. `.ci/parity.py` compares them with the rows.
package struct Parity: TestTrait {
  package var comments: [Comment]
}

extension Trait where Self == Parity {
  /// Marks a test that shows the behaviour of these rows.
  package static func parity(_ rows: String...) -> Self {
    Self(comments: ["rows of Docs/Parity.md: \(rows.joined(separator: ", "))"])
  }
}

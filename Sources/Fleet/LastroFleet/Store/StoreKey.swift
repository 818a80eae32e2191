// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The form of names in a store.
enum StoreKey {
  static let maximumLength = 200

  /// Returns whether a text can be the key of a value.
  static func isValid(_ key: String) -> Bool {
    (1...maximumLength).contains(key.utf8.count) && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// Checks a name that becomes a part of a key.
  static func check(_ what: String, _ name: String) throws(ConfigurationError) {
    guard isValid(name), name.utf8.count <= 100 else {
      throw ConfigurationError(
        "the \(what) \(name.prefix(40).escapedForDisplay) is not 1 to 100 characters of visible ASCII",
        hint: "give a short name without blanks, such as github")
    }
  }
}

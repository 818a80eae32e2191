// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// Owns a list of strings (`curl_slist`). It must outlive the handles that use it.
struct StringList: ~Copyable {
  private(set) var head: UnsafeMutablePointer<curl_slist>?

  /// Appends a copy of a string. Returns false if memory cannot be allocated; the list is unchanged then.
  mutating func append(_ text: String) -> Bool {
    guard let longer = curl_slist_append(head, text) else { return false }
    head = longer
    return true
  }

  deinit { curl_slist_free_all(head) }
}

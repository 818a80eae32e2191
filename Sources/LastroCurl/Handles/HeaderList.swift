// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// Owns a `curl_slist`, which must outlive the transfer that uses it.
struct HeaderList: ~Copyable {
  private(set) var head: UnsafeMutablePointer<curl_slist>?

  /// False when memory ran out; the list is unchanged then.
  mutating func append(_ line: String) -> Bool {
    guard let extended = curl_slist_append(head, line) else { return false }
    head = extended
    return true
  }

  deinit { curl_slist_free_all(head) }
}

// SPDX-License-Identifier: Apache-2.0

/// The update of stored responses by a 304 (RFC 9111 §3.2, §4.3.4).
package enum CacheFreshening {
  /// The fields that describe the stored body, and are not updated.
  private static let bodyFields: Set<String> = ["content-length", "content-encoding", "content-range"]

  /// Returns the entries that a 304 applies to, newest first; empty if there are none.
  ///
  /// - Parameters:
  ///   - fields: the fields of the 304.
  ///   - entries: the entries whose validators were sent.
  ///   - asked: the index of the entry to validate.
  package static func matches(_ fields: CacheFields, among entries: [CacheEntry], asked: Int) -> [Int] {
    let newestFirst = entries.indices.sorted { entries[$0].date > entries[$1].date }
    if let tag = fields.first("etag") {
      if !tag.hasPrefix("W/") {
        let strong = newestFirst.filter { entries[$0].tag == tag }
        if !strong.isEmpty { return strong }
      }
      return Array(newestFirst.filter { opaque(entries[$0].tag) == opaque(tag) }.prefix(1))
    }
    if let date = fields.first("last-modified") {
      return Array(newestFirst.filter { entries[$0].lastModified == date }.prefix(1))
    }
    // A 304 without a validator applies to the entry that was validated, if it was the only one with a tag.
    return entries.count { $0.tag != nil } <= 1 ? [asked] : []
  }

  /// Returns the entry, updated with the fields of a 304.
  package static func freshened(
    _ entry: CacheEntry, by fields: CacheFields, requested: Duration, received: Duration
  ) -> CacheEntry {
    var entry = entry
    let brought = CacheStorage.fieldsToStore(fields, received: received).lines.filter {
      !bodyFields.contains($0.name.lowercased())
    }
    let names = Set(brought.map { $0.name.lowercased() })
    // An old `Age` would add to the new age.
    entry.fields.lines.removeAll { names.contains($0.name.lowercased()) || $0.name.lowercased() == "age" }
    entry.fields.lines += brought
    entry.requested = requested
    entry.received = received
    return entry
  }

  /// Returns whether a 200 to HEAD describes the same body as a stored response to GET (§4.3.5).
  package static func agrees(_ fields: CacheFields, with entry: CacheEntry) -> Bool {
    for name in ["etag", "last-modified", "content-length"] {
      if let new = fields.first(name), new != entry.fields.first(name) { return false }
    }
    return true
  }

  private static func opaque(_ tag: String?) -> Substring? {
    tag.map { $0.hasPrefix("W/") ? $0.dropFirst(2) : $0[...] }
  }
}

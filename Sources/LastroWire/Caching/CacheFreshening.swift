// SPDX-License-Identifier: Apache-2.0

/// What a 304 makes of stored answers (RFC 9111 §3.2, §4.3.4).
package enum CacheFreshening {
  /// Fields of the stored answer that describe the body as it is stored.
  private static let bodyFields: Set<String> = ["content-length", "content-encoding", "content-range"]

  /// Which entries the 304 is about, the newest first; empty where it is about none of them.
  ///
  /// - Parameters:
  ///   - fields: those of the 304.
  ///   - entries: those whose validators were sent.
  ///   - asked: the one that was to be validated.
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
    // Without a validator it is about the one that was asked for, where no other was.
    return entries.count { $0.tag != nil } <= 1 ? [asked] : []
  }

  /// The entry with the fields that the 304 brings.
  package static func freshened(
    _ entry: CacheEntry, by fields: CacheFields, requested: Duration, received: Duration
  ) -> CacheEntry {
    var entry = entry
    let brought = CacheStorage.fieldsToStore(fields, received: received).lines.filter {
      !bodyFields.contains($0.name.lowercased())
    }
    let names = Set(brought.map { $0.name.lowercased() })
    // An old age would count on top of the new one.
    entry.fields.lines.removeAll { names.contains($0.name.lowercased()) || $0.name.lowercased() == "age" }
    entry.fields.lines += brought
    entry.requested = requested
    entry.received = received
    return entry
  }

  /// Whether a HEAD's 200 is about the same body as a stored GET's (§4.3.5).
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

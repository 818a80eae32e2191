// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import LastroWire

extension CacheFields {
  init(_ fields: HTTPFields) { self.init(fields.map { Line($0.name.rawName, $0.value) }) }

  /// The fields as `HTTPFields`. Every name is valid, so no field is dropped.
  var httpFields: HTTPFields {
    HTTPFields(lines.compactMap { line in HTTPField.Name(line.name).map { HTTPField(name: $0, value: line.value) } })
  }
}

extension CacheEntry {
  /// Whether the entry may answer anyone, not only the sender for whom it was made. An entry that sets a cookie may
  /// not, regardless of its other fields.
  var isForAnyone: Bool { control.isPublic && !fields.contains("set-cookie") }
}

extension StoredHead {
  /// The entry as the caching rules see it.
  package var entry: CacheEntry {
    CacheEntry(
      status: head.status.code, fields: CacheFields(head.headerFields), requested: requested, received: received,
      length: length, isDecoded: isDecoded)
  }

  /// Returns the head with the fields and times of an entry that a 304 updated.
  func freshened(_ entry: CacheEntry) -> StoredHead {
    var result = self
    result.head.headerFields = entry.fields.httpFields
    result.requested = entry.requested
    result.received = entry.received
    return result
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
import LastroWire

extension CacheFields {
  init(_ fields: HTTPFields) { self.init(fields.map { Line($0.name.rawName, $0.value) }) }

  /// As the shared vocabulary has them. Names come from there, and none is lost.
  var httpFields: HTTPFields {
    HTTPFields(lines.compactMap { line in HTTPField.Name(line.name).map { HTTPField(name: $0, value: line.value) } })
  }
}

extension CacheEntry {
  /// Whether it answers anyone, and not those alone for whom it was made. A cookie is for whom it was set, whatever
  /// else the answer says.
  var isForAnyone: Bool { control.isPublic && !fields.contains("set-cookie") }
}

extension StoredHead {
  /// As the machine sees it.
  var entry: CacheEntry {
    CacheEntry(
      status: head.status.code, fields: CacheFields(head.headerFields), requested: requested, received: received,
      length: length, isDecoded: isDecoded)
  }

  /// With what a 304 made of its entry.
  func freshened(_ entry: CacheEntry) -> StoredHead {
    var result = self
    result.head.headerFields = entry.fields.httpFields
    result.requested = entry.requested
    result.received = entry.received
    return result
  }
}

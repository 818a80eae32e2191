// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroWire

extension CurlConfiguration {
  /// Returns the header fields that the engine adds to a request.
  func addedFields(to head: HTTPRequest, _ body: RequestBody) -> [HTTPField] {
    let given = head.headerFields
    var fields: [HTTPField] = []
    if let host = head.authority, let name = HTTPField.Name("Host") {
      fields.append(.init(name: name, value: host))
    }
    if let userAgent, given[.userAgent] == nil { fields.append(.init(name: .userAgent, value: userAgent)) }
    if sendsAccept, given[.accept] == nil { fields.append(.init(name: .accept, value: "*/*")) }
    if decompresses, given[.acceptEncoding] == nil, given[.range] == nil {
      fields.append(.init(name: .acceptEncoding, value: codings.map(\.name).joined(separator: ", ")))
    }
    if !body.isEmpty, let length = body.length {
      fields.append(.init(name: .contentLength, value: "\(length)"))
    }
    return fields
  }
}

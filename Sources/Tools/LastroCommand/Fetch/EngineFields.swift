// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroWire

/// The header fields that the engine adds to a request, as its settings say.
struct EngineFields {
  /// The `User-Agent` that the engine sends if the request has none.
  private let userAgent: String?
  private let decompresses: Bool
  private let sendsAccept: Bool

  init(_ engine: CurlConfiguration) {
    (userAgent, decompresses, sendsAccept) = (engine.userAgent, engine.decompresses, engine.sendsAccept)
  }

  /// Returns the fields for a request.
  func fields(for head: HTTPRequest, _ body: RequestBody) -> [HTTPField] {
    let given = head.headerFields
    var fields: [HTTPField] = []
    if let host = head.authority, let name = HTTPField.Name("Host") {
      fields.append(.init(name: name, value: host))
    }
    if let userAgent, given[.userAgent] == nil { fields.append(.init(name: .userAgent, value: userAgent)) }
    if sendsAccept, given[.accept] == nil { fields.append(.init(name: .accept, value: "*/*")) }
    if decompresses, given[.acceptEncoding] == nil, given[.range] == nil {
      fields.append(.init(name: .acceptEncoding, value: ContentCoding.offer))
    }
    if !body.isEmpty, let length = body.length {
      fields.append(.init(name: .contentLength, value: "\(length)"))
    }
    return fields
  }
}

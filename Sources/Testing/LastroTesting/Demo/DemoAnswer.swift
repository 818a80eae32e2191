// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The response formats that all routes of the demo API share.
enum DemoAnswer {
  static func json(_ value: some Encodable, status: Int = 200) throws -> LoopbackResponse {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return .json(String(decoding: try encoder.encode(value), as: UTF8.self), status: status)
  }

  static func failure(
    _ status: Int, _ message: String, errors: [DemoModels.Failure.Detail]? = nil
  ) throws -> LoopbackResponse {
    try json(DemoModels.Failure(message: message, errors: errors), status: status)
  }

  static func notFound() throws -> LoopbackResponse { try failure(404, "Not Found") }

  static func invalid(_ field: String, code: String = "invalid") throws -> LoopbackResponse {
    try failure(422, "Validation Failed", errors: [.init(field: field, code: code)])
  }
}

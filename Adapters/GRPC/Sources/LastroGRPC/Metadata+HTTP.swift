// SPDX-License-Identifier: Apache-2.0

internal import GRPCCore
internal import HTTPTypes

extension HTTPField.Name {
  // Forced: these are tokens (RFC 9110 §5.6.2), and there is no fallback.
  // swift-format-ignore: NeverForceUnwrap
  static let grpcStatus = HTTPField.Name("grpc-status")!
  // swift-format-ignore: NeverForceUnwrap
  static let grpcMessage = HTTPField.Name("grpc-message")!
  // swift-format-ignore: NeverForceUnwrap
  static let grpcEncoding = HTTPField.Name("grpc-encoding")!
}

extension Metadata {
  /// The fields that are the protocol's own.
  private static let reserved: Set<HTTPField.Name> = [.grpcStatus, .grpcMessage, .grpcEncoding, .contentType]

  /// Creates metadata from the head or the trailers of a response. Binary values stay encoded until they are read.
  init(_ fields: HTTPFields) {
    self.init()
    for field in fields where !Self.reserved.contains(field.name) {
      let name = field.name.canonicalName
      guard name.hasSuffix("-bin") else {
        addString(field.value, forKey: name)
        continue
      }
      // Several binary values of a name may be joined, because no comma is part of one.
      for value in field.value.split(separator: ",") { addString(value.trimmed, forKey: name) }
    }
  }
}

extension Substring {
  /// The text without spaces and tabs around it.
  fileprivate var trimmed: String {
    var text = self
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }
}

extension Status {
  /// Reads the status from the end of a response.
  ///
  /// - Throws: `RPCError` with the code `unknown` if it is missing or no number of gRPC.
  init(_ fields: HTTPFields) throws(RPCError) {
    guard let text = fields[.grpcStatus] else {
      throw RPCError(code: .unknown, message: "the response ended without a grpc-status")
    }
    guard let code = Int(text).flatMap(Status.Code.init(rawValue:)) else {
      throw RPCError(
        code: .unknown, message: "the grpc-status \(String(reflecting: text.prefix(20))) is not one of gRPC")
    }
    self.init(code: code, message: (fields[.grpcMessage] ?? "").removingGRPCEncoding)
  }
}

extension String {
  /// The text without percent-encoding. Bytes that are not encoded well are kept.
  fileprivate var removingGRPCEncoding: String {
    guard utf8.contains(UInt8(ascii: "%")) else { return self }
    let bytes = Array(utf8)
    var decoded: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
        let high = Character(UnicodeScalar(bytes[index + 1])).hexDigitValue,
        let low = Character(UnicodeScalar(bytes[index + 2])).hexDigitValue
      {
        decoded.append(UInt8(high << 4 | low))
        index += 3
      } else {
        decoded.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }
}

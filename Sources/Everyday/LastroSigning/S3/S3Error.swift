// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// An error of S3 or of a service that speaks its protocol.
public struct S3Error: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of the error, such as `NoSuchKey` or `SlowDown`.
  public let code: String
  /// The server's text for people; empty if there is none.
  public let message: String
  /// The bucket or key, if the server names it.
  public let resource: String?
  /// The identifier of the request, for the provider's support.
  public let requestID: String?

  /// Whether the same request may succeed a moment later.
  public var mayPass: Bool { ["InternalError", "ServiceUnavailable", "SlowDown", "RequestTimeout"].contains(code) }

  /// Code and message on one line.
  public var description: String { message.isEmpty ? code : "\(code): \(message)" }

  /// Reads an error; `nil` if the root is another element.
  init?(_ root: XMLReader.Element) {
    guard root.name == "Error", let code = root["Code"], !code.isEmpty else { return nil }
    func text(_ name: String) -> String? { root[name].map { String($0.prefix(1000)) } }
    self.code = String(code.prefix(100))
    message = text("Message") ?? ""
    resource = text("Resource") ?? text("Key") ?? text("BucketName")
    requestID = text("RequestId")
  }
}

extension ErrorDecoding where APIError == S3Error, Payload == Data {
  /// A decoding of S3's XML errors. It returns `nil` for an empty payload, such as that of a response to HEAD.
  public static var s3: Self {
    Self { payload, _ in
      guard let payload, !payload.isEmpty else { return nil }
      return S3Error(try XMLReader.root(of: payload))
    }
  }
}

extension ModelDecoding where Payload == Data, Metadata == ResourceResponse {
  /// Returns a decoding of S3's XML. A 2xx response whose body is an error, which S3 sends if copying or completing an
  /// upload fails after the status was sent, becomes an `APIErrorInSuccess`.
  ///
  /// - Parameter model: returns the model of a root; `nil` for another root. Servers disagree on the names of roots.
  static func s3(_ model: @escaping @Sendable (XMLReader.Element) throws -> T?) -> Self {
    Self { payload, _ in
      let root = try XMLReader.root(of: payload)
      if let error = S3Error(root) { throw APIErrorInSuccess(error) }
      guard let model = try model(root) else { throw XMLReader.Violation(description: "the XML has another root") }
      return model
    }
  }
}

extension ModelDecoding where T == NoContent, Payload == Data, Metadata == ResourceResponse {
  /// A decoding of `CompleteMultipartUpload` and `CopyObject`, whose 200 may be an error.
  public static var s3Completion: Self {
    s3 { _ in NoContent() }
  }
}

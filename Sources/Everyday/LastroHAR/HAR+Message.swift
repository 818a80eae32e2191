// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension HAR {
  /// A request.
  package struct Request: Codable, Sendable, Hashable {
    /// The method.
    package var method: String
    /// The absolute URL, without a fragment.
    package var url: String
    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`; empty if it is not known.
    package var httpVersion = ""
    /// The cookies of the `Cookie` fields.
    package var cookies: [Cookie] = []
    /// The header fields.
    package var headers: [Field] = []
    /// The decoded items of the query.
    package var queryString: [Field] = []
    /// The body.
    package var postData: PostData?
    /// The size of the header; -1: not known.
    package var headersSize = -1
    /// The length of the body; -1 if it is not known.
    package var bodySize: Int64 = 0
    /// A remark.
    package var comment: String?
  }

  /// A response.
  package struct Response: Codable, Sendable, Hashable {
    /// The status; 0 if there was no response.
    package var status: Int
    /// The reason phrase.
    package var statusText = ""
    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`; empty if it is not known.
    package var httpVersion = ""
    /// The cookies of the `Set-Cookie` fields.
    package var cookies: [Cookie] = []
    /// The header fields.
    package var headers: [Field] = []
    /// The body.
    package var content = Content()
    /// The value of `Location`; empty if there is none.
    package var redirectURL = ""
    /// The size of the header; -1: not known.
    package var headersSize = -1
    /// The number of body bytes on the wire; -1 if it is not known.
    package var bodySize: Int64 = -1
    /// A remark.
    package var comment: String?
  }

  /// A name and a value, of a header field or an item of a query.
  package struct Field: Codable, Sendable, Hashable {
    /// The name.
    package var name: String
    /// The value.
    package var value: String
    /// A remark.
    package var comment: String?
  }

  /// A cookie.
  package struct Cookie: Codable, Sendable, Hashable {
    /// The name.
    package var name: String
    /// The value.
    package var value: String
    /// The `Path` attribute of `Set-Cookie`.
    package var path: String?
    /// The `Domain` attribute of `Set-Cookie`.
    package var domain: String?
    /// Whether `Set-Cookie` has the `HttpOnly` attribute.
    package var httpOnly: Bool?
    /// Whether `Set-Cookie` has the `Secure` attribute.
    package var secure: Bool?
  }

  /// The body of a request.
  package struct PostData: Codable, Sendable, Hashable {
    /// The media type; empty if none was given.
    package var mimeType: String
    /// The body as text, or as base64 if ``encoding`` says so.
    package var text: String?
    /// The encoding of the text, `base64`; `nil` for plain text. The format defines it only for responses.
    package var encoding: String?
    /// The reason why the body is incomplete.
    package var comment: String?
    /// Whether the recorder omitted some or all of the body.
    package var isTruncated: Bool?

    enum CodingKeys: String, CodingKey {
      case mimeType, text, encoding = "_encoding", comment, isTruncated = "_truncated"
    }
  }

  /// The body of a response.
  package struct Content: Codable, Sendable, Hashable {
    /// The number of bytes after decompression.
    package var size: Int64 = 0
    /// The media type; empty if none was given.
    package var mimeType = ""
    /// The body as text, or as base64 if ``encoding`` says so.
    package var text: String?
    /// The encoding of the text, `base64`; `nil` for plain text.
    package var encoding: String?
    /// The reason why the body is incomplete.
    package var comment: String?
    /// Whether the recorder omitted some or all of the body.
    package var isTruncated: Bool?

    enum CodingKeys: String, CodingKey {
      case size, mimeType, text, encoding, comment, isTruncated = "_truncated"
    }
  }
}

extension HAR.Content {
  /// The bytes of the body; `nil` if the recorder has left them out, or if the text is not valid base64, although
  /// ``encoding`` says so.
  package var data: Data? {
    guard let text else { return size > 0 ? nil : Data() }
    return encoding == "base64" ? Data(base64Encoded: text) : Data(text.utf8)
  }
}

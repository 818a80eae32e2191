// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension HAR {
  /// A request.
  package struct Request: Codable, Sendable, Hashable {
    /// The method.
    package var method: String
    /// The absolute URL, without a fragment.
    package var url: String
    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`; empty if it is not known.
    package var httpVersion: String
    /// The cookies of the `Cookie` fields.
    package var cookies: [Cookie]
    /// The header fields.
    package var headers: [Field]
    /// The decoded items of the query.
    package var queryString: [Field]
    /// The body.
    package var postData: PostData?
    /// The size of the header; -1: not known.
    package var headersSize: Int
    /// The length of the body; -1 if it is not known.
    package var bodySize: Int64
    /// A remark.
    package var comment: String?

    /// Creates a request.
    package init(
      method: String, url: String, httpVersion: String = "", cookies: [Cookie] = [], headers: [Field] = [],
      queryString: [Field] = [], postData: PostData? = nil, headersSize: Int = -1, bodySize: Int64 = 0,
      comment: String? = nil
    ) {
      self.method = method
      self.url = url
      self.httpVersion = httpVersion
      self.cookies = cookies
      self.headers = headers
      self.queryString = queryString
      self.postData = postData
      self.headersSize = headersSize
      self.bodySize = bodySize
      self.comment = comment
    }
  }

  /// A response.
  package struct Response: Codable, Sendable, Hashable {
    /// The status; 0 if there was no response.
    package var status: Int
    /// The reason phrase.
    package var statusText: String
    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`; empty if it is not known.
    package var httpVersion: String
    /// The cookies of the `Set-Cookie` fields.
    package var cookies: [Cookie]
    /// The header fields.
    package var headers: [Field]
    /// The body.
    package var content: Content
    /// The value of `Location`; empty if there is none.
    package var redirectURL: String
    /// The size of the header; -1: not known.
    package var headersSize: Int
    /// The number of body bytes on the wire; -1 if it is not known.
    package var bodySize: Int64
    /// A remark.
    package var comment: String?

    /// Creates a response.
    package init(
      status: Int, statusText: String = "", httpVersion: String = "", cookies: [Cookie] = [], headers: [Field] = [],
      content: Content = Content(), redirectURL: String = "", headersSize: Int = -1, bodySize: Int64 = -1,
      comment: String? = nil
    ) {
      self.status = status
      self.statusText = statusText
      self.httpVersion = httpVersion
      self.cookies = cookies
      self.headers = headers
      self.content = content
      self.redirectURL = redirectURL
      self.headersSize = headersSize
      self.bodySize = bodySize
      self.comment = comment
    }
  }

  /// A name and a value, of a header field or an item of a query.
  package struct Field: Codable, Sendable, Hashable {
    /// The name.
    package var name: String
    /// The value.
    package var value: String
    /// A remark.
    package var comment: String?

    /// Creates a pair.
    package init(name: String, value: String, comment: String? = nil) {
      self.name = name
      self.value = value
      self.comment = comment
    }
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

    /// Creates a cookie.
    package init(
      name: String, value: String, path: String? = nil, domain: String? = nil, httpOnly: Bool? = nil,
      secure: Bool? = nil
    ) {
      self.name = name
      self.value = value
      self.path = path
      self.domain = domain
      self.httpOnly = httpOnly
      self.secure = secure
    }
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

    /// Creates a body.
    package init(
      mimeType: String, text: String? = nil, encoding: String? = nil, comment: String? = nil, isTruncated: Bool? = nil
    ) {
      self.mimeType = mimeType
      self.text = text
      self.encoding = encoding
      self.comment = comment
      self.isTruncated = isTruncated
    }
  }

  /// The body of a response.
  package struct Content: Codable, Sendable, Hashable {
    /// The number of bytes after decompression.
    package var size: Int64
    /// The media type; empty if none was given.
    package var mimeType: String
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

    /// Creates a body; by default an empty one.
    package init(
      size: Int64 = 0, mimeType: String = "", text: String? = nil, encoding: String? = nil, comment: String? = nil,
      isTruncated: Bool? = nil
    ) {
      self.size = size
      self.mimeType = mimeType
      self.text = text
      self.encoding = encoding
      self.comment = comment
      self.isTruncated = isTruncated
    }
  }
}

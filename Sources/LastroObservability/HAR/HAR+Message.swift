// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension HAR {
  /// A request.
  public struct Request: Codable, Sendable, Hashable {
    /// Its method.
    public var method: String
    /// Its absolute URL, without a fragment.
    public var url: String
    /// `HTTP/1.1`, `HTTP/2`; empty where it is not known.
    public var httpVersion: String
    /// The cookies of its `Cookie` fields.
    public var cookies: [Cookie]
    /// Its header fields.
    public var headers: [Field]
    /// The items of its query, decoded.
    public var queryString: [Field]
    /// Its body.
    public var postData: PostData?
    /// -1: not known.
    public var headersSize: Int
    /// Length of the body; -1 where it is not known.
    public var bodySize: Int64
    /// A remark.
    public var comment: String?

    /// Makes a request.
    public init(
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

  /// An answer.
  public struct Response: Codable, Sendable, Hashable {
    /// Its status; 0 where there was no answer.
    public var status: Int
    /// The reason phrase.
    public var statusText: String
    /// `HTTP/1.1`, `HTTP/2`; empty where it is not known.
    public var httpVersion: String
    /// The cookies of its `Set-Cookie` fields.
    public var cookies: [Cookie]
    /// Its header fields.
    public var headers: [Field]
    /// Its body.
    public var content: Content
    /// The `Location`; empty without one.
    public var redirectURL: String
    /// -1: not known.
    public var headersSize: Int
    /// Bytes of the body on the wire; -1 where they are not known.
    public var bodySize: Int64
    /// A remark.
    public var comment: String?

    /// Makes an answer.
    public init(
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

  /// Name and value: of a header field, of an item of a query.
  public struct Field: Codable, Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value.
    public var value: String
    /// A remark.
    public var comment: String?

    /// Makes a pair.
    public init(name: String, value: String, comment: String? = nil) {
      self.name = name
      self.value = value
      self.comment = comment
    }
  }

  /// A cookie.
  public struct Cookie: Codable, Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value.
    public var value: String
    /// Of `Set-Cookie`.
    public var path: String?
    /// Of `Set-Cookie`.
    public var domain: String?
    /// Of `Set-Cookie`.
    public var httpOnly: Bool?
    /// Of `Set-Cookie`.
    public var secure: Bool?

    /// Makes a cookie.
    public init(
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
  public struct PostData: Codable, Sendable, Hashable {
    /// Its media type; empty where none was said.
    public var mimeType: String
    /// The body: text, or base64 when ``encoding`` says so.
    public var text: String?
    /// `base64`. The format has it for answers only.
    public var encoding: String?
    /// Why it is not all of the body.
    public var comment: String?
    /// Whether the recorder left out some of the body, or all.
    public var isTruncated: Bool?

    enum CodingKeys: String, CodingKey {
      case mimeType, text, encoding = "_encoding", comment, isTruncated = "_truncated"
    }

    /// Makes a body.
    public init(
      mimeType: String, text: String? = nil, encoding: String? = nil, comment: String? = nil, isTruncated: Bool? = nil
    ) {
      self.mimeType = mimeType
      self.text = text
      self.encoding = encoding
      self.comment = comment
      self.isTruncated = isTruncated
    }
  }

  /// The body of an answer.
  public struct Content: Codable, Sendable, Hashable {
    /// Number of bytes, after decompression.
    public var size: Int64
    /// Its media type; empty where none was said.
    public var mimeType: String
    /// The body: text, or base64 when ``encoding`` says so.
    public var text: String?
    /// `base64`.
    public var encoding: String?
    /// Why it is not all of the body.
    public var comment: String?
    /// Whether the recorder left out some of the body, or all.
    public var isTruncated: Bool?

    enum CodingKeys: String, CodingKey {
      case size, mimeType, text, encoding, comment, isTruncated = "_truncated"
    }

    /// Makes a body; by default none.
    public init(
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

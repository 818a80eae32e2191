// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The public test data beside this file; `README.md` tells where each is from.
package enum ConformanceData {
  /// A file's content, by its path in this folder: `llhttp/responses.json`.
  package static func file(_ path: String) throws -> Data {
    try Data(contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: path))
  }

  /// The content of a file that may not stand in this folder, from the folder `shared` beside the repository; `nil` on
  /// machines that do not have that.
  package static func sharedFile(_ path: String) -> Data? {
    let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    return try? Data(contentsOf: repository.appending(path: "../shared/data/conformance/\(path)").standardized)
  }
}

/// An entry of data that has comments, which are strings, between its cases.
package enum CommentOr<Case: Decodable>: Decodable {
  case comment
  case item(Case)

  package init(from decoder: any Decoder) throws {
    let isComment = (try? decoder.singleValueContainer().decode(String.self)) != nil
    self = isComment ? .comment : .item(try Case(from: decoder))
  }
}

/// A case of llhttp's tests of responses.
package struct LLHTTPCase: Decodable, Sendable {
  package struct Meta: Decodable, Sendable {
    package var skipBody: Bool?
  }

  package var name: String
  package var type: String
  package var meta: Meta
  package var input: Data
  package var error: String?
  package var status: Int?
  package var body: String

  enum CodingKeys: String, CodingKey {
    case name, type, meta, error, status, body
    case input = "input_b64"
  }

  package static func all() throws -> [LLHTTPCase] {
    try JSONDecoder().decode([LLHTTPCase].self, from: ConformanceData.file("llhttp/responses.json"))
  }

  /// Those in which llhttp's leniencies are off.
  package static func strict() throws -> [LLHTTPCase] { try all().filter { !$0.type.contains("lenient") } }
}

/// A case of curl's tests of HTTP.
package struct CurlCase: Decodable, Sendable {
  package struct Request: Decodable, Sendable {
    package var method: String
    package var headers: [[String]]
    package var follow: Bool
    package var compressed: Bool
    /// Kind, user, password.
    package var auth: [String]?
    package var body: String?
  }

  package var test: Int
  package var name: String
  package var path: String
  package var request: Request
  /// By their names: `data`, and for later requests `data2` and `data1000`. Heads end their lines as HTTP does.
  package var replies: [String: Data]
  /// 0 where curl takes the answer.
  package var errorcode: Int

  package static func all() throws -> [CurlCase] {
    try JSONDecoder().decode([CurlCase].self, from: ConformanceData.file("curl/http-cases.json"))
  }

  /// Returns the numbers of the cases that Lastro reads differently from curl. A line has the number and the reason.
  package static func differences() throws -> Set<Int> {
    let text = String(decoding: try ConformanceData.file("curl/differences.txt"), as: UTF8.self)
    return Set(text.split(separator: "\n").compactMap { row in Int(row.prefix { $0 != " " }) })
  }
}

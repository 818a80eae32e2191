// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The public test data in the folder of this file. `README.md` lists the sources.
package enum ConformanceData {
  /// Returns the content of a file by its path in this folder, such as `llhttp/responses.json`.
  package static func file(_ path: String) throws -> Data {
    try Data(contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: path))
  }

  /// Returns the content of a file that must not be part of the repository, from the folder `shared` beside it; `nil`
  /// on machines without that folder.
  package static func sharedFile(_ path: String) -> Data? {
    let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    return try? Data(contentsOf: repository.appending(path: "../shared/data/conformance/\(path)").standardized)
  }
}

/// An entry of a list in which comments, which are strings, may appear between the cases.
package enum CommentOr<Case: Decodable>: Decodable {
  case comment
  case item(Case)

  package init(from decoder: any Decoder) throws {
    let isComment = (try? decoder.singleValueContainer().decode(String.self)) != nil
    self = isComment ? .comment : .item(try Case(from: decoder))
  }
}

/// A case of llhttp's response tests.
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

  /// Returns the cases in which llhttp's lenient modes are off.
  package static func strict() throws -> [LLHTTPCase] { try all().filter { !$0.type.contains("lenient") } }
}

/// A case of curl's HTTP tests.
package struct CurlCase: Decodable, Sendable {
  package struct Request: Decodable, Sendable {
    package var method: String
    package var headers: [[String]]
    package var follow: Bool
    package var compressed: Bool
    /// The scheme, user name and password.
    package var auth: [String]?
    package var body: String?
  }

  package var test: Int
  package var name: String
  package var path: String
  package var request: Request
  /// The responses by name: `data`, and for later requests `data2` and `data1000`. The lines of heads end in CRLF.
  package var replies: [String: Data]
  /// The exit code that curl's test expects; 0 if curl accepts the response.
  package var errorcode: Int

  package static func all() throws -> [CurlCase] {
    try JSONDecoder().decode([CurlCase].self, from: ConformanceData.file("curl/http-cases.json"))
  }

  /// Returns the numbers of the cases that Lastro reads differently from curl. Each line of the file has a number and
  /// the reason.
  package static func differences() throws -> Set<Int> {
    let text = String(decoding: try ConformanceData.file("curl/differences.txt"), as: UTF8.self)
    return Set(text.split(separator: "\n").compactMap { row in Int(row.prefix { $0 != " " }) })
  }
}

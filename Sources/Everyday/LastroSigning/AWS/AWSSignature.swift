// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

/// The steps of AWS Signature Version 4, over the parts of a request.
struct AWSSignature {
  static let algorithm = "AWS4-HMAC-SHA256"
  /// The SHA-256 of zero bytes.
  static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  static let unsigned = "UNSIGNED-PAYLOAD"
  static let streaming = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"

  /// The time of the signature, such as `20150830T123600Z`.
  let time: String
  let region: String
  let service: String

  /// The date, region and service, which limit the use of a signing key.
  var scope: String { "\(time.prefix(8))/\(region)/\(service)/aws4_request" }

  /// The parts of a request that are signed.
  struct Request {
    var method: String
    /// The path in its canonical encoding.
    var path: String
    /// The query in its canonical encoding, without `?`.
    var query: String
    /// Names in lower case, and values; several with one name are joined.
    var fields: [(name: String, value: String)]
    /// The hash of the body in hexadecimal, or one of the words in its place.
    var payload: String

    /// The values by name, with runs of blanks shortened.
    private var byName: [(name: String, value: String)] {
      var names: [String] = []
      var values: [String: String] = [:]
      for (name, value) in fields {
        let trimmed = value.split { $0 == " " || $0 == "\t" || $0.isNewline }.joined(separator: " ")
        if let earlier = values[name] {
          values[name] = earlier + "," + trimmed
        } else {
          names.append(name)
          values[name] = trimmed
        }
      }
      return names.sorted(by: AWSSignature.precedes).map { ($0, values[$0] ?? "") }
    }

    var signedNames: String { byName.map(\.name).joined(separator: ";") }

    var canonical: String {
      let items = query.split(separator: "&").map { item in
        let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
      }
      let sorted = items.sorted { one, other in
        one.0 == other.0 ? AWSSignature.precedes(one.1, other.1) : AWSSignature.precedes(one.0, other.0)
      }
      let lines =
        [method, path, sorted.map { $0 + "=" + $1 }.joined(separator: "&")]
        + byName.map { "\($0.name):\($0.value)" } + ["", signedNames, payload]
      return lines.joined(separator: "\n")
    }
  }

  /// Returns whether a text precedes another by its bytes. `String` compares by canonical equivalence.
  private static func precedes(_ one: String, _ other: String) -> Bool {
    one.utf8.lexicographicallyPrecedes(other.utf8)
  }

  func stringToSign(_ request: Request) throws(ConfigurationError) -> String {
    let hash = try MessageDigest(of: Array(request.canonical.utf8)).hexadecimal
    return [Self.algorithm, time, scope, hash].joined(separator: "\n")
  }

  /// Returns the key that signs within the scope.
  func key(from secret: Secret) throws(ConfigurationError) -> [UInt8] {
    var key = Array(("AWS4" + secret.reveal()).utf8)
    for part in scope.split(separator: "/") {
      key = try MessageDigest.hmacSHA256(of: Array(part.utf8), key: key).bytes
    }
    return key
  }

  /// Returns the signature of a request in hexadecimal.
  func signature(of request: Request, key: [UInt8]) throws(ConfigurationError) -> String {
    try MessageDigest.hmacSHA256(of: Array(stringToSign(request).utf8), key: key).hexadecimal
  }

  // MARK: encodings

  /// Returns a path as services other than S3 canonicalize it: without dot segments and empty segments, and encoded
  /// once more.
  static func normalized(_ path: String) -> String {
    var segments: [Substring] = []
    for segment in path.split(separator: "/") where segment != "." {
      if segment != ".." {
        segments.append(segment)
      } else if !segments.isEmpty {
        segments.removeLast()
      }
    }
    let end = path.hasSuffix("/") && !segments.isEmpty ? "/" : ""
    return encoded("/" + segments.joined(separator: "/") + end)
  }

  /// Returns a text with everything percent-encoded that AWS encodes, including `%`, but not `/`.
  static func encoded(_ path: String) -> String { path.percentEncoded(keeping: ByteSet.unreserved.union(ByteSet("/"))) }

  /// Returns a path with its query in the percent-encoding that AWS signs.
  static func respelledTarget(_ target: String) -> String {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = respelled(parts[0], delimiters: ByteSet("/"))
    guard parts.count > 1, !parts[1].isEmpty else { return path }
    // Only the first equals sign of an item is a delimiter.
    let items = parts[1].split(separator: "&").map { item in
      item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map { respelled($0, delimiters: ByteSet("")) }.joined(separator: "=")
    }
    return path + "?" + items.joined(separator: "&")
  }

  /// Returns a path or query as AWS encodes it: percent-encoding is decoded, and only unreserved characters and the
  /// given delimiters stay as they are. A sign that is percent-encoded is never a delimiter.
  private static func respelled(_ text: some StringProtocol, delimiters: ByteSet) -> String {
    var result = ""
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let high = rest.first?.hexadecimalValue,
        let low = rest.dropFirst().first?.hexadecimalValue
      {
        result.append(high << 4 | low, keeping: .unreserved)
        rest = rest.dropFirst(2)
      } else {
        result.append(byte, keeping: .unreserved.union(delimiters))
      }
    }
    return result
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LastroEveryday

/// The responses of one key, as they are kept in a store. All times are of the store's clock.
///
/// The form is a version, the length of the head, a head in JSON, and the bodies one after another.
struct CacheRecord: Sendable {
  /// A response with its body.
  struct Response: Sendable {
    var head: StoredHead
    var body: Data
  }

  private struct Form: Codable {
    struct Part: Codable {
      var row: StoredRow
      var selecting: Data
      var length: Int
    }

    var generation: UInt64
    var end: Int64
    var parts: [Part]
  }

  private static let version: UInt8 = 1
  private static let maximumResponses = 8
  /// The largest size of all heads.
  private static let maximumHeadBytes = 256 * 1024
  /// The time by which two clocks may differ in the receipt of one response.
  static let tolerance = Duration.milliseconds(50)

  /// The number of the URL's responses: after a removal of all of them, the number is another one.
  var generation: UInt64
  /// The time at which the record expires.
  var end = Duration.zero
  /// The responses, the newest first.
  var responses: [Response] = []

  init(generation: UInt64, end: Duration = .zero) { (self.generation, self.end) = (generation, end) }

  /// Adds a response, and drops the oldest ones that exceed the limit on bodies.
  ///
  /// - Returns: false if the record has the same response or a newer one.
  mutating func add(_ response: Response, maximumBytes: Int) -> Bool {
    let same = responses.filter { $0.head.selecting == response.head.selecting }
    guard same.allSatisfy({ $0.head.received < response.head.received }) else { return false }
    remove(response.head.selecting, notAfter: response.head.received)
    responses.insert(response, at: 0)
    var bytes = 0
    responses = Array(
      responses.prefix(Self.maximumResponses).prefix { response in
        bytes += response.body.count
        return bytes <= maximumBytes
      })
    return true
  }

  /// Removes the response with a selection, unless it was received later than a given time.
  ///
  /// - Returns: whether the record has changed.
  @discardableResult
  mutating func remove(_ selecting: [UInt8], notAfter time: Duration) -> Bool {
    let count = responses.count
    responses.removeAll { $0.head.selecting == selecting && $0.head.received <= time }
    return responses.count < count
  }

  /// Returns the stored form; `nil` if the heads are too large.
  func encoded() -> [UInt8]? {
    let form = Form(
      generation: generation, end: end.wholeMicroseconds,
      parts: responses.map {
        Form.Part(row: StoredRow($0.head), selecting: Data($0.head.selecting), length: $0.body.count)
      })
    guard let json = try? JSONEncoder().encode(form), json.count <= Self.maximumHeadBytes else { return nil }
    var bytes = [Self.version] + WordBytes.encode(UInt64(json.count)) + json
    for response in responses { bytes += response.body }
    return bytes
  }

  /// Reads the stored form; `nil` if the value has another form, or was written by another version.
  init?(_ bytes: [UInt8]) {
    guard bytes.first == Self.version, bytes.count >= 9, let words = WordBytes.decode(bytes[1..<9], count: 1),
      words[0] <= UInt64(bytes.count - 9)
    else { return nil }
    var rest = bytes[(9 + Int(words[0]))...]
    guard let form = try? JSONDecoder().decode(Form.self, from: Data(bytes[9..<rest.startIndex])) else { return nil }
    generation = form.generation
    end = .microseconds(form.end)
    for part in form.parts {
      guard part.length >= 0, part.length <= rest.count,
        let head = part.row.head(id: 0, selecting: Array(part.selecting), length: Int64(part.length))
      else { return nil }
      responses.append(Response(head: head, body: Data(rest.prefix(part.length))))
      rest = rest.dropFirst(part.length)
    }
    guard rest.isEmpty else { return nil }
  }
}

extension StoredHead {
  /// Returns the head with its times moved from one clock to another.
  func moved(by offset: Duration) -> StoredHead {
    var result = self
    result.requested += offset
    result.received += offset
    return result
  }
}

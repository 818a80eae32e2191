// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroGemini
import LastroSupport
import LastroTransports

/// The example of `ProtocolFramerImplementation`: lines of at most 1,024 bytes. The bytes after the last LF are a line,
/// too.
final class Lines: ProtocolFramerImplementation {
  static let label = "Lines"
  static let definition = ProtocolFramer.Definition(implementation: Lines.self)
  init(framer: ProtocolFramer.Instance) {}

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    while true {
      var line: Data?
      var seen = 0
      _ = framer.parseInput(minimumIncompleteLength: 1, maximumLength: 1024) { bytes, isComplete in
        guard let bytes else { return 0 }
        seen = bytes.count
        if let end = bytes.firstIndex(of: 10) {
          line = Data(bytes[..<end])
          return end + 1
        }
        guard isComplete else { return 0 }
        line = Data(bytes)
        return seen
      }
      guard let line else { return seen + 1 }
      framer.deliverInput(data: line, message: ProtocolFramer.Message(instance: framer), isComplete: true)
    }
  }

  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {
    try? framer.writeOutputNoCopy(length: messageLength)
    if isComplete { framer.writeOutput(data: Data([10])) }
  }
}

/// A framer for messages after two bytes of length. A message is passed on as it arrives. Its length and number are
/// metadata.
final class LengthPrefixed: ProtocolFramerImplementation {
  static let label = "LengthPrefixed"
  static let definition = ProtocolFramer.Definition(implementation: LengthPrefixed.self)
  private var number = 0
  init(framer: ProtocolFramer.Instance) {}

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    while true {
      var length: Int?
      let isParsed = framer.parseInput(minimumIncompleteLength: 2, maximumLength: 2) { bytes, _ in
        guard let bytes, bytes.count == 2 else { return 0 }
        length = Int(bytes[0]) << 8 | Int(bytes[1])
        return 2
      }
      guard isParsed, let length else { return 2 }
      number += 1
      let message = ProtocolFramer.Message(instance: framer)
      message["length"] = length
      message["number"] = number
      guard framer.deliverInputNoCopy(length: length, message: message, isComplete: true) else { return 2 }
    }
  }

  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {
    framer.writeOutput(data: Data([UInt8(messageLength >> 8), UInt8(messageLength & 255)]))
    try? framer.writeOutputNoCopy(length: messageLength)
  }

  static func encoded(_ messages: [String]) -> Data {
    messages.reduce(into: Data()) { data, message in
      data += [UInt8(message.utf8.count >> 8), UInt8(message.utf8.count & 255)] + Array(message.utf8)
    }
  }
}

/// A framer that sends a greeting, and another one whenever it wakes up, until it is welcomed. It then lets everything
/// through, and sends a goodbye when it stops.
final class Greeting: ProtocolFramerImplementation {
  static let label = "Greeting"
  static let definition = ProtocolFramer.Definition(implementation: Greeting.self)
  private let patience: UInt64?
  private let journal: Journal?
  private var isWelcome = false

  /// A record of the calls that a framer received.
  final class Journal: Sendable {
    private let lines = Lock<[String]>([])
    func note(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
  }

  static func options(patience: UInt64? = nil, journal: Journal? = nil, waitsInStop: Bool = false)
    -> ProtocolFramer.Options
  {
    var options = ProtocolFramer.Options(definition: definition)
    options["patience"] = patience
    options["journal"] = journal
    options["waitsInStop"] = waitsInStop
    return options
  }

  init(framer: ProtocolFramer.Instance) {
    let options = framer.options as? ProtocolFramer.Options
    patience = options?["patience"] as? UInt64
    journal = options?["journal"] as? Journal
  }

  func start(framer: ProtocolFramer.Instance) -> ProtocolFramer.StartResult {
    journal?.note("start")
    framer.writeOutput(data: Data("HELLO\n".utf8))
    framer.scheduleWakeup(wakeupTime: patience.map { .milliseconds($0) } ?? .forever)
    return .willMarkReady
  }

  func wakeup(framer: ProtocolFramer.Instance) {
    journal?.note("wakeup")
    framer.writeOutput(data: Data("AGAIN\n".utf8))
  }

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    var answer: String?
    _ = framer.parseInput(minimumIncompleteLength: 8, maximumLength: 8) { bytes, _ in
      guard let bytes, bytes.count == 8 else { return 0 }
      answer = String(decoding: bytes, as: UTF8.self)
      return 8
    }
    guard let answer else { return 8 }
    guard answer == "WELCOME\n" else {
      framer.markFailed(error: .posix(.ECONNREFUSED))
      return 8
    }
    isWelcome = true
    framer.passThroughInput()
    framer.passThroughOutput()
    framer.markReady()
    return 0
  }

  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {}

  func stop(framer: ProtocolFramer.Instance) -> Bool {
    journal?.note("stop")
    framer.writeOutput(data: Data("BYE\n".utf8))
    return (framer.options as? ProtocolFramer.Options)?["waitsInStop"] as? Bool != true
  }

  func cleanup(framer: ProtocolFramer.Instance) { journal?.note("cleanup") }
}

extension ProtocolOptions where Self == ProtocolFramer.Options {
  static var lines: Self { Self(definition: Lines.definition) }
  static var lengthPrefixed: Self { Self(definition: LengthPrefixed.definition) }
}

/// A framer that learns from the first line which framer comes above it.
final class Negotiator: ProtocolFramerImplementation {
  static let label = "Negotiator"
  static let definition = ProtocolFramer.Definition(implementation: Negotiator.self)
  init(framer: ProtocolFramer.Instance) {}

  func start(framer: ProtocolFramer.Instance) -> ProtocolFramer.StartResult { .willMarkReady }

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    var name: String?
    _ = framer.parseInput(minimumIncompleteLength: 2, maximumLength: 2) { bytes, _ in
      guard let bytes, bytes.count == 2 else { return 0 }
      name = String(decoding: bytes, as: UTF8.self)
      return 2
    }
    guard let name else { return 2 }
    do {
      try framer.prependApplicationProtocol(options: name == "L\n" ? .lines : .lengthPrefixed)
    } catch {
      framer.markFailed(error: error)
    }
    framer.passThroughInput()
    framer.passThroughOutput()
    framer.markReady()
    return 0
  }

  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {}
}

// The framer of “Implement a Gemini Protocol Client Using Network.framework”, ported by renaming the types. It is
// unchanged, except for code that does not compile in the article either. Its way to retry the meta string is the one
// that hung on Network framework (“Debugging My Gemini NWProtocolFramer Implementation”).

struct ArticleResponseHeader: Sendable {
  let status: Int
  let meta: String
}

private let requestKey = "gemini_request"
private let responseHeaderKey = "gemini_response_header"

extension ProtocolFramer.Message {
  convenience init(articleRequest request: String, definition: ProtocolDefinition) {
    self.init(definition: definition)
    self[requestKey] = request
  }

  var articleRequest: String? { self[requestKey] as? String }

  convenience init(articleHeader header: ArticleResponseHeader, definition: ProtocolDefinition) {
    self.init(definition: definition)
    self[responseHeaderKey] = header
  }

  var articleHeader: ArticleResponseHeader? { self[responseHeaderKey] as? ArticleResponseHeader }
}

final class ArticleGemini: ProtocolFramerImplementation {
  static let label = "Gemini"
  static let definition = ProtocolFramer.Definition(implementation: ArticleGemini.self)

  private var tempStatusCode: Int?
  private var tempMeta: String?

  required init(framer: ProtocolFramer.Instance) {}

  func start(framer: ProtocolFramer.Instance) -> ProtocolFramer.StartResult { return .ready }
  func wakeup(framer: ProtocolFramer.Instance) {}
  func stop(framer: ProtocolFramer.Instance) -> Bool { return true }
  func cleanup(framer: ProtocolFramer.Instance) {}

  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {
    guard let request = message.articleRequest else {
      fatalError("GeminiProtocol can't send message that doesn't have an associated GeminiRequest")
    }
    framer.writeOutput(data: Data((request + "\r\n").utf8))
  }

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    if tempStatusCode == nil {
      _ = framer.parseInput(minimumIncompleteLength: 3, maximumLength: 3) { (buffer, isComplete) -> Int in
        guard let buffer = buffer, buffer.count == 3 else { return 0 }
        let secondIndex = buffer.index(after: buffer.startIndex)
        if let str = String(bytes: buffer[...secondIndex], encoding: .utf8), let value = Int(str, radix: 10) {
          self.tempStatusCode = value
        }
        return 3
      }
    }
    guard let statusCode = tempStatusCode else {
      return 3
    }
    var attemptedMetaLength: Int?
    if tempMeta == nil {
      _ = framer.parseInput(minimumIncompleteLength: 2, maximumLength: 1026) { (buffer, isComplete) -> Int in
        guard let buffer = buffer, buffer.count >= 2 else { return 0 }
        attemptedMetaLength = buffer.count
        let lastPossibleCRIndex = buffer.index(before: buffer.index(before: buffer.endIndex))
        var index = buffer.startIndex
        var found = false
        while index <= lastPossibleCRIndex {
          if buffer[index] == 13 /* CR */ && buffer[buffer.index(after: index)] == 10 /* LF */ {
            found = true
            break
          }
          index = buffer.index(after: index)
        }
        if !found {
          if buffer.count < 1026 {
            return 0
          } else {
            fatalError("Expected to find <CR><LF> in buffer. Meta string may not be longer than 1024 bytes.")
          }
        }
        tempMeta = String(bytes: buffer[..<index], encoding: .utf8)
        return buffer.startIndex.distance(to: index) + 2
      }
    }
    guard let meta = tempMeta else {
      if let attempted = attemptedMetaLength {
        return attempted + 1
      } else {
        return 2
      }
    }
    let header = ArticleResponseHeader(status: statusCode, meta: meta)
    let message = ProtocolFramer.Message(articleHeader: header, definition: Self.definition)
    _ = framer.deliverInputNoCopy(
      length: (20..<30).contains(statusCode) ? .max : 0, message: message, isComplete: true)
    return 0
  }
}

/// The same framer with the repair of the second article: the next attempt requires at least one byte more than the
/// last one had.
final class RepairedGemini: ProtocolFramerImplementation {
  static let label = "Repaired Gemini"
  static let definition = ProtocolFramer.Definition(implementation: RepairedGemini.self)

  private var tempStatusCode: Int?
  private var tempMeta: String?
  private var lastAttemptedMetaLength: Int?

  required init(framer: ProtocolFramer.Instance) {}

  func handleOutput(
    framer: ProtocolFramer.Instance, message: ProtocolFramer.Message, messageLength: Int, isComplete: Bool
  ) {}

  func handleInput(framer: ProtocolFramer.Instance) -> Int {
    if tempStatusCode == nil {
      _ = framer.parseInput(minimumIncompleteLength: 3, maximumLength: 3) { (buffer, isComplete) -> Int in
        guard let buffer = buffer, buffer.count == 3 else { return 0 }
        self.tempStatusCode = Int(String(decoding: buffer[..<2], as: UTF8.self), radix: 10)
        return 3
      }
    }
    guard let statusCode = tempStatusCode else { return 3 }
    if tempMeta == nil {
      let min: Int
      if let lastAttemptedMetaLength = lastAttemptedMetaLength {
        min = lastAttemptedMetaLength + 1
      } else {
        min = 2
      }
      _ = framer.parseInput(minimumIncompleteLength: min, maximumLength: 1024 + 2) { (buffer, isComplete) -> Int in
        guard let buffer = buffer else { return 0 }
        self.lastAttemptedMetaLength = buffer.count
        guard let end = (0..<max(0, buffer.count - 1)).first(where: { buffer[$0] == 13 && buffer[$0 + 1] == 10 })
        else { return 0 }
        self.tempMeta = String(decoding: buffer[..<end], as: UTF8.self)
        return end + 2
      }
    }
    guard let meta = tempMeta else {
      if let attempted = self.lastAttemptedMetaLength {
        return attempted + 1
      } else {
        return 2
      }
    }
    let message = ProtocolFramer.Message(
      articleHeader: ArticleResponseHeader(status: statusCode, meta: meta), definition: Self.definition)
    _ = framer.deliverInputNoCopy(length: statusCode / 10 == 2 ? .max : 0, message: message, isComplete: true)
    return 0
  }
}

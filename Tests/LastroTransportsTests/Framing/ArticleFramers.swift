// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroGemini
import LastroTransports

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The framer of “Implement a Gemini Protocol Client Using Network.framework”, moved over by renaming the types; as it stands
// there, but for what does not compile there either. Its way to retry the meta string is the one that hung on Network framework
// (“Debugging My Gemini NWProtocolFramer Implementation”).

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

/// The same with the repair of the second article: the minimum of the next attempt is one more than was tried.
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

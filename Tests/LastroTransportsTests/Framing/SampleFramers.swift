// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTransports

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The example of `ProtocolFramerImplementation`: lines of 1,024 bytes at most; what is behind the last LF is a line too.
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

/// Two bytes of length, then the message, which is handed on as it comes. Length and number are metadata.
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

/// Says hello, and again whenever it is woken, until it is welcomed; then lets everything through. Says goodbye.
final class Greeting: ProtocolFramerImplementation {
  static let label = "Greeting"
  static let definition = ProtocolFramer.Definition(implementation: Greeting.self)
  private let patience: UInt64?
  private let journal: Journal?
  private var isWelcome = false

  /// What was called.
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

/// Learns from the first line which framer comes above it.
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

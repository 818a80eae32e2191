// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Lastro
import LastroSupport
import LastroTransports

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A stream that is read in exactly the pieces it was made of, and then ends.
final class ScriptedStream: ByteStream {
  private struct State {
    var pieces: [Data]
    var written: [UInt8] = []
  }

  let facts = StreamFacts()
  private let state: Lock<State>

  init(_ pieces: [Data]) { state = Lock(State(pieces: pieces.filter { !$0.isEmpty })) }

  var written: String { state.withLock { String(decoding: $0.written, as: UTF8.self) } }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    state.withLock { $0.pieces.isEmpty ? nil : $0.pieces.removeFirst() }
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    state.withLock { $0.written += data }
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    state.withLock { $0.written += Array("<end>".utf8) }
  }

  func close() {}
}

struct ScriptedDialer: Dialer {
  let stream: ScriptedStream

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream { stream }
}

/// Input in one piece, one byte at a time, and in every split in two.
func feedings(_ input: String) -> [[Data]] { feedings(Data(input.utf8)) }

func feedings(_ input: Data) -> [[Data]] {
  let splits = (0..<max(1, input.count)).map { [Data(input.prefix($0)), Data(input.dropFirst($0))] }
  return splits + [input.map { Data([$0]) }]
}

/// What an application saw of a connection.
struct Transcript: Equatable, CustomStringConvertible {
  var messages: [String] = []
  var ending = ""

  var description: String { "\(messages) \(ending)" }
}

/// Receives all messages of one feeding.
///
/// - Parameter show: what is shown of a message.
func transcript(
  _ pieces: [Data], _ framers: [any ProtocolOptions],
  show: (ReceivedContent) -> String = { String(decoding: $0.data, as: UTF8.self) }
) async throws -> Transcript {
  let parameters = ConnectionParameters.tcp
  parameters.defaultProtocolStack.applicationProtocols = framers
  let connection = NetworkConnection(
    to: .hostPort(host: "host.example", port: 1), using: parameters,
    dialer: ScriptedDialer(stream: ScriptedStream(pieces)))
  defer { connection.cancel() }
  var transcript = Transcript()
  connection.start(queue: .global())
  do {
    while true {
      let content = try await connection.receiveMessage()
      if content.isEndOfStream {
        transcript.ending = "end"
        return transcript
      }
      transcript.messages.append(show(content) + (content.isComplete ? "" : "…"))
    }
  } catch ConnectionError.framer(let failure) {
    // How many bytes were there is a matter of the feeding, if the framer asks byte by byte.
    transcript.ending = "\(failure.label): \(failure.code)"
  } catch {
    transcript.ending = "\(error)"
  }
  return transcript
}

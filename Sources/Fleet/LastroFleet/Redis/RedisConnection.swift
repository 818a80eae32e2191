// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// A connection to a server. Commands of several tasks are pipelined: each is sent at once, and replies arrive in the
/// order of the commands.
final class RedisConnection: Sendable {
  typealias Reply = Result<RESPValue, FleetStoreError>

  private struct State {
    var outgoing: [UInt8] = []
    var isWriting = false
    /// The commands without a reply, by their number.
    var pending: [UInt64: OneAnswer<Reply>] = [:]
    var firstPending: UInt64 = 0
    var nextCommand: UInt64 = 0
    var end: FleetStoreError?
  }

  private static let maximumPending = 10_000

  let address: RedisAddress
  private let stream: any ByteStream
  private let time: TimeSource
  private let state = Lock(State())

  /// Takes over an open stream.
  init(_ stream: any ByteStream, to address: RedisAddress, time: TimeSource) {
    self.stream = stream
    self.address = address
    self.time = time
    // Neither task refers to the connection: its release closes the stream, which ends both.
    Task { [stream, address, state] in await Self.readReplies(of: stream, address, state) }
  }

  deinit { stream.close() }

  /// The reason why the connection ended; `nil` while it is open.
  var end: FleetStoreError? { state.withLock { $0.end } }

  /// Sends a command and waits for its reply.
  ///
  /// If the limit passes, the connection is closed, because later replies are behind the missing one. If the task is
  /// cancelled, the reply is dropped when it arrives.
  func reply(to command: [UInt8], within limit: Duration) async throws(FleetStoreError) -> RESPValue {
    let answer = OneAnswer<Reply>()
    let isFirst = try state.withLock { state throws(FleetStoreError) in
      if let end = state.end { throw end }
      guard state.nextCommand - state.firstPending < Self.maximumPending else {
        throw FleetStoreError(
          .timedOut, "\(Self.maximumPending) commands already wait for replies of \(address)",
          hint: "look at the load of the store")
      }
      state.pending[state.nextCommand] = answer
      state.nextCommand += 1
      state.outgoing += command
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if isFirst { Task { [stream, address, state] in await Self.write(to: stream, address, state) } }
    let timer = Task { [weak self, time] in
      guard (try? await time.limit(limit)) != nil, let self else { return }
      let error = FleetStoreError(
        .timedOut, "\(address) did not respond within \(limit.brief)", hint: "look at the store, or raise timeout")
      close(error)
    }
    defer { timer.cancel() }
    let reply = await withTaskCancellationHandler {
      await answer.value()
    } onCancel: {
      answer.give(.failure(.cancelledOperation))
    }
    return try reply.get()
  }

  /// Closes the connection. All commands without a reply fail.
  func close(_ reason: FleetStoreError) {
    Self.end(state, reason)
    stream.close()
  }

  private static func end(_ state: Lock<State>, _ reason: FleetStoreError) {
    let pending = state.withLock { state in
      state.end = state.end ?? reason
      state.outgoing = []
      defer { state.pending = [:] }
      return state.pending.values
    }
    for answer in pending { answer.give(.failure(reason)) }
  }

  private static func write(to stream: any ByteStream, _ address: RedisAddress, _ state: Lock<State>) async {
    while true {
      let piece = state.withLock { state in
        defer { state.outgoing = [] }
        if state.outgoing.isEmpty { state.isWriting = false }
        return state.outgoing
      }
      if piece.isEmpty { return }
      do throws(TransportError) {
        try await stream.write(Data(piece), within: nil)
      } catch {
        end(state, .lost(address, error.message))
        return stream.close()
      }
    }
  }

  private static func readReplies(
    of stream: any ByteStream, _ address: RedisAddress, _ state: Lock<State>
  ) async {
    var reader = RESPReader()
    while true {
      var replies: [RESPValue] = []
      var fault: FleetStoreError?
      do throws(TransportError) {
        guard let piece = try await stream.read(upTo: 65_536, within: nil) else {
          return end(state, .lost(address, "the server closed the connection"))
        }
        do throws(RESPViolation) {
          try reader.read(Array(piece), into: &replies)
        } catch {
          fault = FleetStoreError(
            .invalidReply, "a reply of \(address) \(error.text)", hint: "check that the port is that of the store")
        }
      } catch {
        return end(state, .lost(address, error.message))
      }
      for reply in replies {
        let answer = state.withLock { state in
          defer { state.firstPending += 1 }
          return state.pending.removeValue(forKey: state.firstPending)
        }
        if let answer {
          answer.give(.success(reply))
        } else {
          fault = FleetStoreError(
            .invalidReply, "\(address) sent a reply without a command", hint: "check that the port is that of the store"
          )
          break
        }
      }
      if let fault {
        end(state, fault)
        return stream.close()
      }
    }
  }
}

extension FleetStoreError {
  static var cancelledOperation: Self { Self(.cancelled, "the operation was cancelled") }

  /// Returns the error for a connection that was lost.
  static func lost(_ address: RedisAddress, _ reason: String) -> Self {
    Self(.unreachable, "the connection to \(address) was lost: \(reason)")
  }
}

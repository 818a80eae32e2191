// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting
import LastroTransports

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Keeps what it is asked for. Streams lead to nobody, datagrams come back.
final class RecordingDialer: Dialer {
  private let kept = Lock<[DialRequest]>([])
  private let ends = Lock<[MemoryStream]>([])
  private let error: TransportError?

  init(error: TransportError? = nil) { self.error = error }

  var requests: [DialRequest] { kept.withLock { $0 } }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    kept.withLock { $0.append(request) }
    if let error { throw error }
    let (near, far) = MemoryStream.pair()
    ends.withLock { $0.append(far) }
    return near
  }

  func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream {
    kept.withLock { $0.append(request) }
    return DatagramMirror()
  }
}

/// Gives every datagram back.
private final class DatagramMirror: DatagramStream {
  let facts = StreamFacts()
  let maximumDatagramBytes = 65_507
  private let continuation: AsyncStream<Data>.Continuation
  private let iterator: Lock<AsyncStream<Data>>

  init() {
    let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
    self.continuation = continuation
    iterator = Lock(stream)
  }

  func receive(within limit: Duration?) async throws(TransportError) -> Data {
    var iterator = iterator.withLock { $0 }.makeAsyncIterator()
    guard let datagram = await iterator.next() else {
      throw TransportError(stage: .request, code: .streamClosed, message: "closed")
    }
    return datagram
  }

  func send(_ datagram: Data, within limit: Duration?) async throws(TransportError) {
    guard datagram.count <= maximumDatagramBytes else { throw .refused(.invalidOption, "too large") }
    continuation.yield(datagram)
  }

  func close() { continuation.finish() }
}

/// Tells what it is told to, to all who watch.
final class FakePathMonitor: NetworkPathMonitor {
  private struct State {
    var handlers: [Int: @Sendable (Bool) -> Void] = [:]
    var watches = 0
    var waiters: [(Int, OneAnswer<Void>)] = []
  }

  private let state = Lock(State())

  var isWatched: Bool { state.withLock { !$0.handlers.isEmpty } }

  func watch(_ facts: StreamFacts, _ handler: @escaping @Sendable (Bool) -> Void) -> (any Cancelable)? {
    let (number, met) = state.withLock { state in
      state.watches += 1
      state.handlers[state.watches] = handler
      return (state.watches, state.waiters.filter { $0.0 <= state.watches })
    }
    for (_, shot) in met { shot.give(()) }
    return Watch(self, number)
  }

  /// Returns when so many have begun to watch.
  func isWatched(by count: Int) async {
    let shot = OneAnswer<Void>()
    let isMet = state.withLock { state in
      state.waiters.append((count, shot))
      return state.watches >= count
    }
    if isMet { shot.give(()) }
    await shot.value()
  }

  func tell(_ isViable: Bool) {
    for handler in state.withLock({ $0.handlers }).values { handler(isViable) }
  }

  private final class Watch: Cancelable {
    private let monitor: FakePathMonitor
    private let number: Int

    init(_ monitor: FakePathMonitor, _ number: Int) {
      self.monitor = monitor
      self.number = number
    }

    var isCancelled: Bool { monitor.state.withLock { $0.handlers[number] == nil } }
    func cancel() { _ = monitor.state.withLock { $0.handlers.removeValue(forKey: number) } }
  }
}

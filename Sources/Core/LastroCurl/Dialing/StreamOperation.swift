// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import Synchronization

/// The answer to a request to a stream. It is given once: by the loop, or by the task that gives the request up. A
/// second answer is rejected, which tells the loop to keep bytes that no task took.
typealias StreamOperation<Value: Sendable> = OneAnswer<Result<Value, TransportError>>

extension OneAnswer {
  /// Awaits the value, and calls `giveUp` if the caller's task is cancelled meanwhile.
  func value(onCancel giveUp: @Sendable () -> Void) async -> Value {
    await withTaskCancellationHandler {
      await value()
    } onCancel: {
      giveUp()
    }
  }
}

/// A stream that a caller dials, shared by the caller and the loop until both ends of the stream are released.
final class StreamDial: Sendable {
  enum Kind: Sendable {
    case bytes
    case datagrams
    /// A connection for an HTTP exchange. A ``DialDelegate`` of the loop owns it.
    case carried
  }

  let id: UInt64
  let kind: Kind
  let request: DialRequest
  /// The host that is dialed. Its certificate has to be for `target`.
  let host: HostName
  let target: TrustTarget
  /// The application protocols in the wire form of RFC 7301 §3.1.
  let protocols: [UInt8]
  let options: SharedOptions
  /// Whether an HTTP proxy is asked for a tunnel (CONNECT). If not, the connection ends at the proxy.
  let tunnels: Bool
  let expiresAt: Int64
  /// The loop. It is retained so that it lives as long as its streams. A carried dial has none: an idle connection must
  /// not keep the loop of a released engine alive.
  let loop: EventLoop?
  /// The address to connect to; `nil` for any address of the host.
  let address: MemberAddress?
  /// Whether the dial is an attempt of a ``DialRace``, which uses the place of the race.
  let isAttempt: Bool
  /// The stream for the caller. A ``DialDelegate`` gets a carried connection instead.
  // The stream refers to the dial. The dial refers to the stream only until the caller takes the answer.
  let answer = StreamOperation<CurlStream>()
  private let ending = Lock(TransportError?.none)
  private let peerEnded = Atomic<Bool>(false)
  /// The open connection.
  // Unchecked because it is set once, before the caller gets the stream.
  nonisolated(unsafe) weak var stream: DialedStream?

  init(
    _ kind: Kind, _ request: DialRequest, host: HostName, target: TrustTarget, protocols: [UInt8],
    options: SharedOptions, tunnels: Bool = true, loop: EventLoop?, id: UInt64 = StreamID.next(),
    address: MemberAddress? = nil, isAttempt: Bool = false, expiresAt: Int64? = nil
  ) {
    self.id = id
    self.kind = kind
    self.request = request
    self.host = host
    self.target = target
    self.protocols = protocols
    self.options = options
    self.tunnels = tunnels
    self.loop = loop
    self.address = address
    self.isAttempt = isAttempt
    self.expiresAt = expiresAt ?? request.connectTimeout.expiry
  }

  /// Creates the dial for a link of an engine. It ends at the latest one second after the time limit of the request
  /// that it was begun for. It does not end with that request, which another connection may have served.
  convenience init(_ dial: LinkDial) throws(TransportError) {
    var request = dial.request
    request.connectTimeout = request.connectTimeout ?? dial.deadline.map { $0 + .seconds(1) }
    self.init(
      .carried, request, host: dial.target.host, target: dial.target,
      protocols: try ALPNOffer.wireForm(request.tls?.applicationProtocols ?? []), options: dial.options,
      tunnels: dial.route.proxy == nil, loop: nil, id: dial.id, address: dial.member)
  }

  /// Creates an attempt at one address of the host.
  convenience init(attempting address: String, of dial: StreamDial) {
    self.init(
      dial.kind, dial.request, host: dial.host, target: dial.target, protocols: dial.protocols, options: dial.options,
      tunnels: dial.tunnels, loop: nil, address: MemberAddress(host: address, port: nil), isAttempt: true,
      expiresAt: dial.expiresAt)
  }

  /// The host and port that are dialed. The certificate may be for another host.
  var server: TrustTarget { TrustTarget(host: host, port: request.port) }
  /// The text of ``server``.
  var name: String { server.name }

  /// The reason why the stream ended, as both sides see it; `nil` while it is open.
  var failure: TransportError? { ending.withLock { $0 } }

  /// Whether the peer has ended its direction, although a task that reads may not have learned that yet.
  var peerHasEnded: Bool { peerEnded.load(ordering: .acquiring) }

  /// Gives the pending read what has arrived, if the caller runs on the loop of the stream.
  func look(on loop: AnyObject?) {
    guard let stream, stream.hub.context === loop, !peerHasEnded else { return }
    stream.look()
  }

  /// Records that the peer has ended its direction.
  func recordPeerEnd() { peerEnded.store(true, ordering: .releasing) }

  /// Records the reason why the stream ended. The first reason is kept.
  func recordEnd(_ error: TransportError) {
    ending.withLock { if $0 == nil { $0 = error } }
  }

  /// Cancels the dial from the caller's side, and makes the loop close what it opened.
  func giveUp() {
    if answer.offer(.failure(.cancelled())) { _ = loop?.inbox.post(.close(id)) }
  }
}

/// A pending read.
final class StreamRead: Sendable {
  let id: UInt64
  let maximum: Int
  let limit: Duration?
  let expiresAt: Int64
  let answer = StreamOperation<Data?>()

  init(_ id: UInt64, maximum: Int, within limit: Duration?) {
    self.id = id
    self.maximum = maximum
    self.limit = limit
    expiresAt = limit.expiry
  }
}

/// A pending write, or the pending end of our direction.
final class StreamWrite: Sendable {
  let id: UInt64
  /// The bytes to write; `nil` to end our direction.
  let data: Data?
  let limit: Duration?
  let expiresAt: Int64
  let answer = StreamOperation<Void>()

  init(_ id: UInt64, _ data: Data?, within limit: Duration?) {
    self.id = id
    self.data = data
    self.limit = limit
    expiresAt = limit.expiry
  }
}

/// A command from another thread for a loop's streams.
enum StreamCommand: Sendable {
  case dial(StreamDial)
  /// The addresses for a ``PendingDial``.
  case resolved(UInt64, Result<[String], TransportError>)
  /// The answer to a read of ``TLSFileReads``.
  case filesRead(UInt64, TLSFileAnswer)
  case read(StreamRead)
  case write(StreamWrite)
  /// Closes a stream, even while it is being dialed.
  case close(UInt64)
}

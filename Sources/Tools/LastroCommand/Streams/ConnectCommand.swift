// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroSupport
import Synchronization

struct ConnectCommand: StreamingCommand {
  static let configuration = CommandConfiguration(
    commandName: "connect",
    abstract: "Joins standard input and output to a stream.",
    discussion: """
      The end of standard input ends the client's direction (FIN, or close_notify); the bytes that the server still sends \
      are printed until it ends its own. Meek, obfs4 and Shadowsocks do not transmit such an end: the program ends when \
      no byte has arrived for --linger seconds after the end of input. With --udp every piece that is read is sent as a \
      datagram, and the program ends --udp-wait seconds after the last reply.

      EXIT STATUS: 0 when the server ended the stream cleanly, else as of fetch: 56 for a stream that was cut.
      """)

  @Argument(help: "HOST:PORT; an IPv6 address in brackets.")
  var server: String
  @Flag(help: "Use TLS, and check the server's certificate.")
  var tls = false
  @Flag(help: "Use datagrams instead of a stream.")
  var udp = false
  @Option(name: .customLong("server-name"), help: "Name to send (SNI) and check the certificate for. Default: HOST.")
  var serverName: String?
  @Option(name: .customLong("udp-wait"), help: "Seconds without a reply after which --udp ends. Default 1.")
  var udpWait: Double = 1
  @Option(
    help: """
      Seconds without a byte from the server, after the end of input, after which the program ends. Default: 10 through meek, \
      obfs4 and Shadowsocks, else until the server ends its direction.
      """)
  var linger: Double?
  @OptionGroup var connection: ConnectionFlags
  @OptionGroup var pins: PinFlags
  @OptionGroup var identity: IdentityFlags
  @OptionGroup var way: ViaFlags

  func validate() throws {
    if udp, linger != nil { throw ValidationError("--linger applies to streams only; with --udp use --udp-wait.") }
    if let linger, !(linger > 0 && linger <= 86_400) {
      throw ValidationError("--linger \(linger) is out of range; give a positive number of seconds, 86400 at most.")
    }
    if udp, tls { throw ValidationError("--udp and --tls exclude each other: DTLS is not supported.") }
    if udp, !way.isEmpty {
      throw ValidationError("--udp and --via exclude each other: tunnels carry streams only.")
    }
    if serverName != nil, !tls { throw ValidationError("--server-name needs --tls.") }
    guard udpWait > 0, udpWait <= 3_600 else {
      throw ValidationError("--udp-wait \(udpWait) is out of range; give a positive number of seconds, 3600 at most.")
    }
    let address = try ServerAddress(server)
    let isBareIPv6 = !server.hasPrefix("[") && address.host.text.contains(":")
    guard !isBareIPv6, server.hasSuffix(":\(address.port)") else {
      throw ValidationError("\(server.onOneLine) has no port; write HOST:PORT, an IPv6 address in brackets.")
    }
  }

  func run() async throws {
    let session = try CommandSession(self)
    let address = try ServerAddress(server)
    var request = DialRequest(
      host: address.host.text, port: address.port, tls: tls ? .init(serverName: serverName) : nil)
    request.connectTimeout = try Console.checked { try connectTimeout() }
    let target = request
    try await session.run { dialer in
      if udp {
        try await exchange(try await dialer.dialDatagrams(target))
      } else {
        let lingering = try linger ?? (Console.checked { try passesNoEnd() } ? 10 : nil)
        try await join(try await dialer.dial(target), lingering: lingering.map { .seconds($0) })
      }
    }
  }

  /// Transfers in both directions until the server ends its own, or is silent for long enough after we ended ours.
  private func join(_ stream: any ByteStream, lingering: Duration?) async throws {
    defer { stream.close() }
    let isWriting = Atomic<Bool>(false)
    let silence = Silence(), progress = Silence()
    let sending = Task {
      try await Self.sendInput(to: stream) {
        isWriting.store($0, ordering: .relaxed)
        progress.isBroken()
      }
    }
    defer { sending.cancel() }
    let ending = Task {
      // After a failed write the server has not been told that the input has ended, and may wait for the rest.
      let limit = if case .failure = await sending.result { lingering ?? .seconds(10) } else { lingering }
      guard let limit, await silence.lasts(limit) else { return }
      stream.close()
    }
    defer { ending.cancel() }
    do {
      while let piece = try await stream.read() {
        silence.isBroken()
        try ResponseOutput.writeAll(piece, to: STDOUT_FILENO)
      }
    } catch let error as TransportError where error.code == .streamClosed {
      try await sending.value
      if silence.isOver { return }
      throw error
    }
    try await waitForSending(sending, progress, isWriting: { isWriting.load(ordering: .relaxed) })
  }

  /// Waits for the rest of the input to be sent after the server has ended its direction. The server may still accept
  /// it, as long as there is progress. Does not wait for a person at a terminal, or for a pipe that supplies nothing.
  private func waitForSending(
    _ sending: Task<Void, any Error>, _ progress: Silence, isWriting: @escaping @Sendable () -> Bool
  ) async throws {
    // The result of the sending; `nil` if there was no progress for too long.
    let outcome = OneAnswer<Result<Void, any Error>?>()
    let quiet = Task {
      if await progress.lasts(.seconds(1)), isWriting() { _ = await progress.lasts(.seconds(9)) }
      outcome.give(nil)
    }
    defer { quiet.cancel() }
    Task { outcome.give(await sending.result) }
    switch await outcome.value() {
    case .success: return
    case .failure(let error): throw error
    case nil where !isWriting(): return
    case nil:
      throw TransportError(
        stage: .send, code: .sendFailed, message: "the server ended the stream before it had taken all of the input",
        hint: "check what the server expects: it closed the stream by itself", requestSent: true)
    }
  }

  /// - Parameter note: called with whether a write is in progress.
  private static func sendInput(to stream: any ByteStream, note: (Bool) -> Void) async throws {
    do {
      let input = StandardInputReader()
      while let piece = try await input.next() {
        note(true)
        try await stream.write(piece)
        note(false)
      }
      try await stream.finishWriting()
    } catch let error as StandardInputReader.ReadFailure {
      // Otherwise the server would wait for the rest, and we for the server.
      stream.close()
      throw error
    }
  }

  private func exchange(_ datagrams: any DatagramStream) async throws {
    defer { datagrams.close() }
    let hasEnded = Atomic<Bool>(false)
    let sending = Task {
      defer { hasEnded.store(true, ordering: .releasing) }
      let input = StandardInputReader(longestPiece: datagrams.maximumDatagramBytes)
      while let piece = try await input.next() { try await Self.send(piece, on: datagrams) }
    }
    defer { sending.cancel() }
    var answers = 0
    var refusal: TransportError?
    while true {
      let isLast = hasEnded.load(ordering: .acquiring)
      if isLast { try await sending.value }
      do {
        let answer = try await datagrams.receive(within: isLast ? .seconds(udpWait) : .milliseconds(100))
        answers += 1
        try ResponseOutput.writeAll(answer, to: STDOUT_FILENO)
      } catch let error as TransportError {
        switch error.code {
        // A server may still begin to listen there.
        case .connectFailed: refusal = error
        case .idleTimeout:
          guard isLast else { continue }
          if let refusal, answers == 0 { throw refusal }
          return
        default: throw error
        }
      }
    }
  }

  /// Sends a datagram; retries once if it is refused: the system reports the refusal of an earlier datagram by not
  /// sending the next one.
  private static func send(_ piece: Data, on datagrams: any DatagramStream) async throws {
    do {
      try await datagrams.send(piece)
    } catch {
      guard error.code == .connectFailed else { throw error }
      try await datagrams.send(piece)
    }
  }
}

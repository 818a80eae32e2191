// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro
import LastroCurl

struct ConnectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "connect",
    abstract: "Joins standard input and output to a stream.",
    discussion: """
      The end of standard input ends our direction (FIN, or close_notify); what the server still sends is printed until it ends \
      its own. With --udp every piece read is a datagram, and the program ends a while after the last answer.

      EXIT STATUS: 0 when the server ended the stream cleanly, else as of fetch: 56 for a stream that was cut.
      """)

  @Argument(help: "HOST:PORT; an IPv6 address in brackets.")
  var server: String
  @Flag(help: "TLS, with the server's certificate checked.")
  var tls = false
  @Flag(help: "Datagrams instead of a stream.")
  var udp = false
  @Option(name: .customLong("server-name"), help: "Name to send (SNI) and check the certificate for. Default: HOST.")
  var serverName: String?
  @Option(name: .customLong("udp-wait"), help: "Seconds without an answer after which --udp ends. Default 1.")
  var udpWait: Double = 1
  @OptionGroup var flags: StreamFlags

  func validate() throws {
    if udp, tls { throw ValidationError("--udp and --tls exclude each other: there is no DTLS.") }
    if udp, !flags.via.isEmpty { throw ValidationError("--udp and --via exclude each other: transports carry bytes.") }
    if serverName != nil, !tls { throw ValidationError("--server-name is about --tls.") }
    guard udpWait > 0, udpWait <= 3_600 else { throw ValidationError("--udp-wait: give 1 to 3600 seconds.") }
    let address = try ServerAddress(server)
    guard server.hasSuffix(":\(address.port)") else { throw ValidationError("\(server): write HOST:PORT.") }
  }

  func run() async throws {
    let session = try StreamSession(flags)
    let address = try ServerAddress(server)
    var request = DialRequest(
      host: address.host.text, port: address.port, tls: tls ? .init(serverName: serverName) : nil)
    request.connectTimeout = try Console.checked { try flags.connectTimeout() }
    let target = request
    try await session.run { dialer in
      if udp {
        try await exchange(try await dialer.dialDatagrams(target))
      } else {
        try await join(try await dialer.dial(target))
      }
    }
  }

  /// Both directions at once, until the server ends its own.
  private func join(_ stream: any ByteStream) async throws {
    defer { stream.close() }
    let sending = Task {
      let input = StandardInputReader()
      while let piece = try await input.next() { try await stream.write(piece) }
      try await stream.finishWriting()
    }
    defer { sending.cancel() }
    while let piece = try await stream.read() { try BodySink.writeAll(piece, to: STDOUT_FILENO) }
    sending.cancel()
    // A server that closed before it had all of the input did not take what was sent.
    if case .failure(let error as TransportError) = await sending.result, error.stage != .cancelled { throw error }
  }

  private func exchange(_ datagrams: any DatagramStream) async throws {
    defer { datagrams.close() }
    let receiving = Task {
      while true { try BodySink.writeAll(try await datagrams.receive(), to: STDOUT_FILENO) }
    }
    defer { receiving.cancel() }
    let input = StandardInputReader()
    while let piece = try await input.next() { try await datagrams.send(piece) }
    try await Task.sleep(for: .seconds(udpWait))
  }
}

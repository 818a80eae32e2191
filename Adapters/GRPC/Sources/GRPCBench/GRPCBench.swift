// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Lastro
import LastroCurl
import LastroGRPC

/// Prints the processor time of unary calls by Lastro and by grpc-swift's own transport. `GRPCBench serve` is their
/// server, a process of its own, so that its time does not count.
@main
enum GRPCBench {
  static let echo = MethodDescriptor(fullyQualifiedService: "bench.Echo", method: "Unary", type: .unary)

  static func main() async throws {
    switch CommandLine.arguments.dropFirst().first {
    case "serve": try await serve()
    default: try await compare(calls: CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 20_000)
    }
  }

  private static func serve() async throws {
    let transport = HTTP2ServerTransport.Posix(
      address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext)
    try await withGRPCServer(transport: transport, services: [Echo()]) { _ in
      print(try await transport.listeningAddress.ipv4?.port ?? 0)
      fflush(nil)
      // Until the client closes the pipe.
      while readLine() != nil {}
    }
  }

  private static func compare(calls: Int) async throws {
    let (process, input, output) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(filePath: CommandLine.arguments[0])
    process.arguments = ["serve"]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    defer { process.terminate() }
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else { return print("no server") }

    var engine = CurlConfiguration()
    engine.connection.httpVersion = .http2
    engine.connection.proxy = .none
    let stack = try CurlNetworkStack(engine)
    let lastro = try LastroGRPCTransport("http://127.0.0.1:\(port)") { try await stack.exchange($0, streamed: $1) }
    let nio = try HTTP2ClientTransport.Posix(
      target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext)
    // Turn by turn, so that both see the same machine.
    try await withGRPCClient(transport: lastro) { lastro in
      try await withGRPCClient(transport: nio) { nio in
        for _ in 0..<3 {
          print("Lastro \(try await microseconds(of: calls, lastro)) µs of CPU per call")
          print("NIO    \(try await microseconds(of: calls, nio)) µs of CPU per call")
        }
      }
    }
  }

  /// Returns the processor time of a call: of 16 at once.
  private static func microseconds(of calls: Int, _ client: GRPCClient<some ClientTransport>) async throws -> Double {
    let start = processorTime()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<16 {
        group.addTask {
          for _ in 0..<calls / 16 {
            let message = [UInt8](repeating: 1, count: 100)
            try await client.unary(
              request: ClientRequest(message: message), descriptor: echo, serializer: Coding(), deserializer: Coding(),
              options: .defaults
            ) { _ = try $0.message }
          }
        }
      }
      try await group.waitForAll()
    }
    return ((processorTime() - start) * 1e6 / Double(calls / 16 * 16) * 10).rounded() / 10
  }

  /// The processor time of this process in seconds.
  private static func processorTime() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let (user, system) = (usage.ru_utime, usage.ru_stime)
    return Double(user.tv_sec + system.tv_sec) + Double(user.tv_usec + system.tv_usec) / 1e6
  }
}

struct Coding: MessageSerializer, MessageDeserializer {
  func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }
  func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}

struct Echo: RegistrableRPCService {
  func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
    router.registerHandler(forMethod: GRPCBench.echo, deserializer: Coding(), serializer: Coding()) { request, _ in
      var message: [UInt8] = []
      for try await part in request.messages { message = part }
      let answer = message
      return StreamingServerResponse { writer in
        try await writer.write(answer)
        return [:]
      }
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(Network)
  public import Network

  public import Foundation

  /// Conformance of Network framework's own connections to ``Connection``.
  ///
  /// Metadata is not converted: contexts keep only their identifier and whether they are final.
  extension NWConnection: Connection {
    /// The handler for state changes; see ``Connection/stateUpdateHandler``. It cannot be read back: the getter returns
    /// `nil`.
    public var stateUpdateHandler: (@Sendable (ConnectionState) -> Void)? {
      get { nil }
      set {
        let own: (@Sendable (NWConnection.State) -> Void)? = newValue.map { handler in
          { @Sendable state in handler(ConnectionState(state)) }
        }
        // Set the framework's property, which this property of the same name hides.
        self.Network::stateUpdateHandler = own
      }
    }

    /// Sends content; see ``Connection/send(content:contentContext:isComplete:completion:)``.
    public func send(
      content: Data?, contentContext: ConnectionContentContext, isComplete: Bool, completion: ConnectionSendCompletion
    ) {
      let context =
        contentContext.isFinal
        ? NWConnection.ContentContext.finalMessage
        : NWConnection.ContentContext(identifier: contentContext.identifier)
      let own: NWConnection.SendCompletion =
        switch completion {
        case .idempotent: .idempotent
        case .contentProcessed(let handler): .contentProcessed { handler($0.map { ConnectionError($0) }) }
        }
      send(content: content, contentContext: context, isComplete: isComplete, completion: own)
    }

    /// Receives content; see ``Connection/receive(minimumIncompleteLength:maxLength:completion:)``.
    public func receive(
      minimumIncompleteLength: Int, maxLength: Int,
      completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
    ) {
      let own: @Sendable (Data?, NWConnection.ContentContext?, Bool, NWError?) -> Void = {
        completion($0, $1.map { ConnectionContentContext($0) }, $2, $3.map { ConnectionError($0) })
      }
      receive(minimumIncompleteLength: minimumIncompleteLength, maximumLength: maxLength, completion: own)
    }
  }

  extension ConnectionContentContext {
    fileprivate convenience init(_ context: NWConnection.ContentContext) {
      self.init(identifier: context.identifier, isFinal: context.isFinal)
    }
  }

  extension ConnectionState {
    fileprivate init(_ state: NWConnection.State) {
      switch state {
      case .setup: self = .setup
      case .waiting(let error): self = .waiting(ConnectionError(error))
      case .preparing: self = .preparing
      case .ready: self = .ready
      case .failed(let error): self = .failed(ConnectionError(error))
      case .cancelled: self = .cancelled
      @unknown default: self = .preparing
      }
    }
  }

  extension ConnectionError {
    fileprivate init(_ error: NWError) {
      switch error {
      case .posix(let code): self = .posix(Code(code.rawValue))
      case .dns(let code): self = .dns(Code(code))
      case .tls(let status): self = .tls(Code(status))
      @unknown default: self = .transport(TransportError(stage: .connect, code: .connectFailed, message: "\(error)"))
      }
    }
  }
#endif

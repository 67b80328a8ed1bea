// As much of CodeMirror's types as our scripts need to be checked.
type Extension = unknown;
type Made = (...given: any[]) => Extension;
export const autocompletion: Made, bracketMatching: Made, closeBrackets: Made, drawSelection: Made, highlightActiveLine: Made,
  highlightActiveLineGutter: Made, highlightSpecialChars: Made, history: Made, hoverTooltip: Made, json: Made, lineNumbers: Made, lintGutter: Made,
  search: Made, syntaxHighlighting: Made;
export const closeBracketsKeymap: object[], completionKeymap: object[], defaultKeymap: object[], historyKeymap: object[],
  lintKeymap: object[], searchKeymap: object[];
export const indentWithTab: object;
export const indentUnit: { of(unit: string): Extension };
export const keymap: { of(bindings: object[]): Extension };
export const HighlightStyle: { define(rules: object[]): unknown };
export const tags: Record<"propertyName" | "string" | "number" | "bool" | "null", unknown>;
export interface Node {
  name: string;
  from: number;
  to: number;
  parent: Node | null;
  firstChild: Node | null;
  lastChild: Node | null;
  nextSibling: Node | null;
}
export interface Tree {
  topNode: Node;
  resolveInner(at: number, side: -1 | 0 | 1): Node;
}
export class TreeFragment {
  static addTree(tree: Tree): TreeFragment[];
  static applyChanges(fragments: TreeFragment[], changes: { fromA: number; toA: number; fromB: number; toB: number }[]): TreeFragment[];
}
export const jsonLanguage: { parser: { parse(text: string, unchanged?: TreeFragment[]): Tree } };
export function startCompletion(view: EditorView): boolean;
export function setDiagnostics(state: EditorState, found: object[]): object;
export class EditorState {
  static create(config: { doc: string; extensions: Extension[] }): EditorState;
  static readOnly: { of(isReadOnly: boolean): Extension };
  doc: { lines: number; line(number: number): { from: number; text: string }; toString(): string };
}
export class EditorView {
  constructor(config: { parent: ShadowRoot; root: ShadowRoot });
  static contentAttributes: { of(attributes: Record<string, string>): Extension };
  static editable: { of(isEditable: boolean): Extension };
  static theme(rules: object): Extension;
  static updateListener: { of(listener: (update: { docChanged: boolean; transactions: { isUserEvent(name: string): boolean }[] }) => void): Extension };
  static scrollIntoView(at: number, options: { y: string }): unknown;
  state: EditorState;
  dispatch(...changes: object[]): void;
  setState(state: EditorState): void;
  focus(): void;
  destroy(): void;
}

// What the scripts take for granted of the page: an id that is looked for is there, and whoever asks knows what it is.
interface Document {
  getElementById(id: string): any;
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}
